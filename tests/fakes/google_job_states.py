"""A CustomJob of the fake Vertex AI: where it stands, and what is told of it."""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tests.fakes.google_scenarios import VertexScenario, VertexVerdict, exit_message, has_error
from tests.fakes.google_wire import iso
from tests.fakes.job_course import Course, Transition
from tests.fakes.job_scenarios import Verdict
from tests.fakes.log_streams import Stream

_DEFAULT_DISK = {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100}


@dataclass
class CustomJob(Course):
    """A job that the service accepted; see :class:`Course` for what every job has.

    Attributes:
        document: The resource that was sent, as protobuf JSON with enum names.
        body: The request, byte for byte.
        id: Its number, a string of digits.
        order: 1 for the first that was created.
        creator: Who sent it.
        log_requests: How often somebody asked for its log.
        lists: How often somebody listed where it should be.
    """

    document: Mapping[str, Any]
    body: bytes
    id: str
    order: int
    project_number: str
    location: str
    creator: str
    created: float
    scenario: VertexScenario
    transitions: list[Transition] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    log_requests: int = 0
    lists: int = 0
    held: bool = False
    stop_asked: threading.Event = field(default_factory=threading.Event)
    started: float | None = None
    _apart: ClassVar[int] = 1

    def __post_init__(self) -> None:
        self.reason, self.code = "", 0
        self._waiting = self.scenario.states()
        self._next(self.created)

    @property
    def name(self) -> str:
        """The display name."""
        return str(self.document["displayName"])

    @property
    def resource(self) -> str:
        """``projects/NUMBER/locations/LOCATION/customJobs/ID``."""
        return f"projects/{self.project_number}/locations/{self.location}/customJobs/{self.id}"

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        return dict(self.document.get("labels", {}))

    @property
    def replicas(self) -> list[str]:
        """``workerpool0-0``, ``workerpool1-0``, ..."""
        pools = self.document["jobSpec"].get("workerPoolSpecs", [])
        return [
            f"workerpool{pool}-{index}"
            for pool, spec in enumerate(pools)
            for index in range(int(spec.get("replicaCount", 0)))
        ]

    def begin(self, now: float) -> None:
        """See :class:`Course`."""
        while self.state != "RUNNING" and not self.ended:
            self.step(now)

    def conclude(self, verdict: Verdict, now: float) -> None:
        """See :class:`Course`."""
        self.verdict = verdict
        outcome = "CANCELLED" if self.stop_asked.is_set() else verdict.outcome
        if has_error(outcome):
            self.code = verdict.code if isinstance(verdict, VertexVerdict) else 0
            self.reason = verdict.reason
        self._waiting = [one for one in self.scenario.last_states(outcome) if one[0] != self.state]
        while not self.ended:
            self._next(now)

    def cancel(self, now: float) -> None:
        """CancelCustomJob: cancelling, then cancelled."""
        self.stop_asked.set()
        if self.state != "CANCELLING":
            self._waiting = self.scenario.last_states("CANCELLED")
            self._next(now)

    def told(self) -> dict[str, Any]:
        """The resource, as protobuf JSON with enum names."""
        told: dict[str, Any] = {
            **copy.deepcopy(dict(self.document)),
            "name": self.resource,
            "state": f"JOB_STATE_{self.state}",
            "createTime": iso(self.created),
            "updateTime": iso(self.transitions[-1].start),
        }
        for pool in told["jobSpec"].get("workerPoolSpecs", []):
            if pool.get("machineSpec"):
                pool["diskSpec"] = {**_DEFAULT_DISK, **pool.get("diskSpec", {})}
        if self.started is not None:
            told["startTime"] = iso(self.started)
        if self.ended:
            told["endTime"] = iso(self.transitions[-1].start)
        if self.ended and has_error(self.state):
            told["error"] = {"code": self.code, "message": self.reason}
        if told["jobSpec"].get("enableWebAccess") and self.state == "RUNNING":
            told["webAccessUris"] = {
                name: f"https://{self.id}-dot-{self.location}.aiplatform-training.example/{name}"
                for name in self.replicas
            }
        return told

    def _next(self, now: float) -> None:
        """Enter the next state."""
        state, message = self._waiting.pop(0)
        now = round(now, 6)
        self._entered, self._described = now, 0
        if self.transitions:
            last = self.transitions[-1]
            last.end = now
            if last.status == "RUNNING":
                for stream in self.streams:
                    stream.close(now, cut=state in ("CANCELLING", "PENDING"))
        self.transitions.append(Transition(state, now, message))
        if state == "RUNNING":
            self.started = now if self.started is None else self.started
            # A job that is paused or updated goes on where it was.
            before = self.transitions[-2].status if len(self.transitions) > 1 else ""
            if not self._runs or before in ("PENDING", "QUEUED"):
                self._open_streams(now)
        if self.ended:
            self.transitions[-1].end = now
            if has_error(state) and not self.reason:
                self.code = self.code or self.scenario.code
                number = self.project_number
                self.reason = self.scenario.reason or exit_message(self.id, number)

    def _stream_name(self, host: str, appears: float) -> str:
        run = sum(stream.host == host for stream in self.streams)
        return f"{host}/{run}"
