"""One training job: created from the printed document byte for byte, polled, read, stopped.

A training job's name is unique in its account and region, so the service itself never makes two
of one name. What is left to us is to know whether the job that has the name is ours.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from launchers.core.cloud.job import CLOCK_SECONDS, CloudJob, Observation, Request
from launchers.core.cloud.sending import is_subset, name_conflict
from launchers.core.model.document import at, mapping, whole_number
from launchers.core.model.jobs import SUCCEEDED, JobHandle, Listener, LogLine
from launchers.core.model.problems import NameTakenError, Problem
from launchers.core.output.mpirun import untangled
from launchers.core.proof import expected_of
from launchers.core.records.ledger import Ledger
from launchers.core.roles import SILENT
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.service.console import job_link
from launchers.sagemaker.service.errors import AWS_ERRORS, code_of, is_missing
from launchers.sagemaker.service.log_streams import (
    GROUP,
    LogStreams,
    RawLine,
    newest_of_first_host,
)
from launchers.sagemaker.service.session import ATTEMPTS, Session
from launchers.sagemaker.service.states import has_ended, in_words, reason_of, state_of

# What DescribeTrainingJob gives back of the request, and what makes two requests the same job.
# Not the role: it is no part of a job's identity, and a second attempt may give another one.
_COMPARED = ("HyperParameters", "Environment", "ResourceConfig", "StoppingCondition")


class TrainingJob(CloudJob):
    """One training job, and the place in its streams up to which they were read."""

    service = "SageMaker"
    success = "Completed"

    def __init__(
        self, session: Session, handle: JobHandle, listener: Listener = SILENT, since: float = 0.0
    ):
        super().__init__(session, handle)
        self._session = session
        self._streams = LogStreams(session, handle.name, since, listener.say)
        # Ranks on a host, and hosts.
        self._size = (0, 0)

    def find(self, request: Request, in_doubt: bool) -> Mapping[str, str] | None:
        """See :class:`CloudJob`. Its name is all that finds it."""
        found = describe_job(self._session, self.handle.name)
        if found is None:
            return None
        if not _is_ours(found, request.definition.document, request.begun, in_doubt):
            raise self._conflict(found)
        return {}

    def create(self, request: Request) -> Mapping[str, str]:
        """CreateTrainingJob, once."""
        # One attempt: whether a second one is right is decided by what Describe says.
        client = self._session.client("sagemaker", attempts=1)
        client.meta.events.register(
            "before-call.sagemaker.CreateTrainingJob", _send_as_printed, unique_id="launch-body"
        )
        _sending.body = request.definition.text.encode()
        client.create_training_job(**request.definition.document)
        link = job_link(self._session.region, self.handle.name)
        return {"console": link} if link else {}

    def is_name_taken(self, error: Exception) -> bool:
        """ResourceInUse."""
        return code_of(error) == "ResourceInUse"

    def name_conflict(self) -> NameTakenError:
        """See :class:`CloudJob`."""
        try:
            return self._conflict(describe_job(self._session, self.handle.name) or {})
        except AWS_ERRORS:
            return self._conflict({})

    def advice(self, error: Exception) -> str:
        """What to do about a quota."""
        if code_of(error) != "ResourceLimitExceeded":
            return ""
        return (
            "ask for more in Service Quotas, wait for other jobs to end, or use another --machine"
        )

    def exists(self) -> bool:
        """DescribeTrainingJob."""
        return describe_job(self._session, self.handle.name, attempts=1) is not None

    def poll(self) -> Observation | None:
        """DescribeTrainingJob."""
        found = describe_job(self._session, self.handle.name, attempts=1)
        if found is None:
            return None
        found = _with_environment(found, self.handle)
        self._size = _size(found)
        ended = found.get("TrainingEndTime")
        return Observation(
            state=state_of(found),
            summary=in_words(found),
            ended=has_ended(found),
            ended_at=ended.timestamp() if ended else None,
            reason=reason_of(found),
            expected=expected_of(mapping(found, "Environment")),
            details=_details(self._session, self.handle.name, found),
        )

    def stop(self) -> bool:
        """StopTrainingJob, which is an error where there is no such job."""
        client = self._session.client("sagemaker", attempts=1)
        client.stop_training_job(TrainingJobName=self.handle.name)
        return True

    def lines(self, observation: Observation) -> Iterator[LogLine]:
        """See :class:`CloudJob`: what has come to the job's streams."""
        for raw in self._streams.round():
            yield from _parsed(raw, *self._size)

    def lines_with(
        self, observation: Observation, words: Sequence[str], since: float = 0.0
    ) -> Iterator[LogLine]:
        """See :class:`CloudJob`: FilterLogEvents over all streams."""
        begin = {"startTime": int(since * 1000)} if since else {}
        try:
            for page in (
                self._session.client("logs", attempts=1)
                .get_paginator("filter_log_events")
                .paginate(
                    logGroupName=GROUP,
                    logStreamNamePrefix=f"{self.handle.name}/",
                    filterPattern=" ".join(f'?"{text}"' for text in words),
                    **begin,
                )
            ):
                for event in page["events"]:
                    host = event["logStreamName"].rpartition("/")[2].rpartition("-")[0]
                    yield from untangled(event["message"], event["timestamp"] / 1000, host)
        except AWS_ERRORS as error:
            if not is_missing(error):
                raise

    def newest(self) -> Sequence[LogLine]:
        """See :class:`CloudJob`: the last page of algo-1's stream."""
        return [
            line
            for raw in newest_of_first_host(self._session, self.handle.name)
            for line in untangled(raw.text, raw.time, raw.host)
        ]

    def no_such_job(self) -> Problem:
        """See :class:`CloudJob`."""
        return RULES["job-unknown"].at(
            f"sagemaker:{self.handle.name}",
            "no such training job in this account and region",
            "a job's name",
            "check --region and the credentials, see `aws sagemaker list-training-jobs`",
        )

    def _conflict(self, found: Mapping[str, Any]) -> NameTakenError:
        name, created = self.handle.name, found.get("CreationTime")
        when = (
            f"created {created:%Y-%m-%d %H:%M:%S %Z}" if created else "created by another request"
        )
        role = f", runs as {found['RoleArn']}" if found.get("RoleArn") else ""
        origin = f"{when} by {_creator(self._session, name)}{role}"
        return name_conflict(self.service, name, origin, f"sagemaker:{name}", self._session.region)


def describe_job(session: Session, name: str, attempts: int = ATTEMPTS) -> dict[str, Any] | None:
    """DescribeTrainingJob; None where there is no such job.

    Args:
        attempts: How often the client sends it at the most.

    Raises:
        ClientError, BotoCoreError: There was no good answer.
    """
    try:
        client = session.client("sagemaker", attempts)
        found: dict[str, Any] = client.describe_training_job(TrainingJobName=name)
    except AWS_ERRORS as error:
        if is_missing(error):
            return None
        raise
    return found


def _with_environment(found: dict[str, Any], handle: JobHandle) -> dict[str, Any]:
    """``found``; an Environment that a service leaves out is the one that the ledger has sent."""
    if found.get("Environment"):
        return found
    entry = Ledger().get(handle.provider, handle.name)
    try:
        document = json.loads(entry.definition) if entry is not None else {}
    except ValueError:
        return found
    sent = mapping(document, "Environment") if isinstance(document, dict) else {}
    return {**found, "Environment": sent}


# Several threads may send their jobs by one client.
_sending = threading.local()


def _send_as_printed(params: dict[str, Any], **_: Any) -> None:
    params["body"] = _sending.body


def _is_ours(
    found: Mapping[str, Any], document: Mapping[str, Any], intended: float, sent: bool
) -> bool:
    """Whether it is the job of this request.

    Args:
        sent: Whether the ledger knows that the request went out. Then what a service leaves out of
            its description counts for nothing; what it tells must be the same.
    """
    created = found["CreationTime"].timestamp()
    compared = [key for key in _COMPARED if key in found] if sent else _COMPARED
    return created >= intended - CLOCK_SECONDS and all(
        is_subset(found.get(key, {}), document.get(key, {})) for key in compared
    )


def _creator(session: Session, name: str) -> str:
    """Who created the job. DescribeTrainingJob does not say; CloudTrail may, where the caller may
    ask it."""
    attribute = {"AttributeKey": "ResourceName", "AttributeValue": name}
    try:
        events = session.client("cloudtrail", attempts=1).lookup_events(
            LookupAttributes=[attribute], MaxResults=20
        )["Events"]
    except AWS_ERRORS:
        events = []
    for event in events:
        if event.get("EventName") == "CreateTrainingJob" and event.get("Username"):
            return str(event["Username"])
    return "someone SageMaker does not name (CloudTrail would: `aws cloudtrail lookup-events`)"


def _parsed(raw: RawLine, processes: int, hosts: int) -> Iterator[LogLine]:
    """The lines of ranks in one line of mpirun's, each with its rank's own host: all ranks print
    in algo-1's stream, and Open MPI's tag names no host."""
    for line in untangled(raw.text, raw.time, raw.host):
        if line.rank is not None and line.host == raw.host and processes and hosts:
            yield LogLine(line.time, _host_of(line.rank, processes, hosts), line.rank, line.text)
        else:
            yield line


def _host_of(rank: int, processes: int, hosts: int) -> str:
    # The toolkit gives mpirun the hosts sorted as texts: algo-1, algo-10, algo-2.
    names = sorted(f"algo-{number}" for number in range(1, hosts + 1))
    return names[min(rank // processes, hosts - 1)]


def _size(found: Mapping[str, Any]) -> tuple[int, int]:
    environment = at(found, "Environment") or {}
    processes = whole_number(environment.get("LAUNCH_PROCESSES")) or 0
    return processes, whole_number(environment.get("LAUNCH_INSTANCES")) or 0


def _details(session: Session, name: str, found: Mapping[str, Any]) -> dict[str, Any]:
    details: dict[str, Any] = {"region": session.region}
    if link := job_link(session.region, name):
        details["console"] = link
    if has_ended(found):
        details["billable_seconds"] = found.get("BillableTimeInSeconds")
        if state_of(found) == SUCCEEDED:
            details["model"] = at(found, "ModelArtifacts", "S3ModelArtifacts") or ""
    for key, name in (("CreationTime", "created"), ("TrainingEndTime", "ended")):
        if found.get(key):
            details[name] = found[key].timestamp()
    return details
