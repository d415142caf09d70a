"""An entry of the fake Cloud Logging: what it looks like, and what a filter sees of it.

Source: Google, "LogEntry"; of its members, what the Vertex AI SDK reads of them (resource.type
ml_job, labels job_id and task_name).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.fakes.google_filters import (
    All,
    Comparison,
    Node,
    Predicate,
    Some,
    number_matches,
    text_matches,
)
from tests.fakes.google_job_states import CustomJob
from tests.fakes.google_wire import iso_nanoseconds, nanoseconds_of, refused
from tests.fakes.log_streams import Stream

MILLISECOND = 1_000_000
# What receiveTimestamp is later than timestamp.
_DELAY = 731_000_000
_NO_END = 1 << 63
# Fields that are the same for all that a replica writes.
_OF_STREAM = ("resource.type", "resource.labels.", "logName", "log_name", "labels.")
_MESSAGE = ("jsonPayload.message", "json_payload.message")
_TEXT = ("textPayload", "text_payload")
_SEVERITIES = ("DEFAULT", "DEBUG", "INFO", "NOTICE", "WARNING", "ERROR", "CRITICAL", "ALERT")


@dataclass(frozen=True)
class Line:
    """A line of a replica.

    Attributes:
        nanoseconds: Its timestamp, since the epoch.
        is_text: Whether it is in textPayload, instead of jsonPayload.message.
    """

    job: CustomJob
    stream: Stream
    nanoseconds: int
    insert_id: str
    text: str
    is_text: bool

    @property
    def place(self) -> tuple[int, str]:
        """What entries are ordered by."""
        return self.nanoseconds, self.insert_id

    @property
    def severity(self) -> str:
        """INFO and the like."""
        starts = self.job.scenario.severities
        return next((how for start, how in starts.items() if self.text.startswith(start)), "INFO")


def entry_of(line: Line, project: str) -> dict[str, Any]:
    """The entry as JSON."""
    job, host, severity = line.job, line.stream.host, line.severity
    payload: dict[str, Any] = {"jsonPayload": {"message": line.text, "levelname": severity}}
    if line.is_text:
        payload = {"textPayload": line.text}
    received = max(line.nanoseconds, int(line.stream.appears * 1000) * MILLISECOND) + _DELAY
    return {
        "insertId": line.insert_id,
        **payload,
        "resource": {"type": "ml_job", "labels": _resource_labels(job, host, project)},
        "timestamp": iso_nanoseconds(line.nanoseconds),
        "severity": severity,
        "labels": _labels(job, host),
        "logName": _log_name(host, project),
        "receiveTimestamp": iso_nanoseconds(received),
    }


def is_of_stream(asked: Comparison) -> bool:
    """Whether it says the same of all that a replica writes."""
    return asked.field.startswith(_OF_STREAM)


def jobs_named(node: Node) -> set[str]:
    """The number of the one job that has to match, if it is said so plainly."""
    if isinstance(node, Comparison) and node.field == "resource.labels.job_id":
        return {node.value} if node.operator == "=" else set()
    return set()


def stream_comparison(
    project: str,
) -> Callable[[Comparison], Predicate[tuple[CustomJob, Stream]]]:
    """How comparisons are made with a replica's stream."""

    def compare(asked: Comparison) -> Predicate[tuple[CustomJob, Stream]]:
        name, matches = asked.field, text_matches(asked.operator or ":", asked.value)
        if name == "resource.type":
            return lambda _: matches("ml_job")
        if name in ("logName", "log_name"):
            return lambda pair: matches(_log_name(pair[1].host, project))
        of_resource = name.startswith("resource.")
        key = name.removeprefix("resource.").removeprefix("labels.")

        def label_matches(pair: tuple[CustomJob, Stream]) -> bool:
            job, host = pair[0], pair[1].host
            labels = _resource_labels(job, host, project) if of_resource else _labels(job, host)
            return matches(labels.get(key, ""))

        return label_matches

    return compare


def line_comparison() -> Callable[[Comparison], Predicate[Line]]:
    """How comparisons are made with a line, but for those that its stream decides."""

    def compare(asked: Comparison) -> Predicate[Line]:
        name, operator, value = asked.field, asked.operator, asked.value
        if name == "timestamp":
            compared = number_matches(operator, nanoseconds_of(value))
            return lambda line: compared(line.nanoseconds)
        if name == "severity":
            ranked = number_matches(operator, _rank(value))
            return lambda line: ranked(_rank(line.severity))
        if name in ("insertId", "insert_id"):
            same = text_matches(operator, value, exact_case=True)
            return lambda line: same(line.insert_id)
        matches = text_matches(operator or ":", value)
        if not name:
            return lambda line: matches(line.text)
        if name in (*_MESSAGE, *_TEXT):
            return lambda line: line.is_text == (name in _TEXT) and matches(line.text)
        raise refused("INVALID_ARGUMENT", f"Unparseable filter: field {name!r} is not imitated")

    return compare


def bounds(node: Node) -> tuple[int, int]:
    """No line before the first or after the second of these nanoseconds can match."""
    if isinstance(node, Comparison) and node.field == "timestamp":
        time = nanoseconds_of(node.value)
        low = time if node.operator in (">", ">=", "=") else 0
        return low, time if node.operator in ("<", "<=", "=") else _NO_END
    if isinstance(node, All | Some) and node.nodes:
        each = [bounds(one) for one in node.nodes]
        lows, highs = [low for low, _ in each], [high for _, high in each]
        if isinstance(node, All):
            return max(lows), min(highs)
        return min(lows), max(highs)
    return 0, _NO_END


def _rank(severity: str) -> int:
    if severity not in _SEVERITIES:
        raise refused("INVALID_ARGUMENT", f"Unparseable filter: severity {severity!r}")
    return _SEVERITIES.index(severity)


def _resource_labels(job: CustomJob, host: str, project: str) -> dict[str, str]:
    return {"job_id": job.id, "task_name": host, "project_id": project}


def _labels(job: CustomJob, host: str) -> dict[str, str]:
    return {
        "ml.googleapis.com/job_id/log_area": "root",
        "ml.googleapis.com/tpu_worker_id": "",
        "compute.googleapis.com/resource_name": f"cmle-training-{host}-{job.id[:10]}",
    }


def _log_name(host: str, project: str) -> str:
    return f"projects/{project}/logs/{host}"
