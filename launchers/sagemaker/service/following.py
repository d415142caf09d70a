"""A training job as SageMaker and CloudWatch Logs know it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from launchers.core.cloud import following
from launchers.core.cloud.following import CloudJob, Sight
from launchers.core.model.document import at, mapping, whole_number
from launchers.core.model.jobs import SUCCEEDED, JobHandle, JobStatus, Listener, LogLine
from launchers.core.model.problems import Problem
from launchers.core.output.mpirun import untangled
from launchers.core.proof import expected_of
from launchers.sagemaker.service.log_streams import GROUP, LogStreams, RawLine
from launchers.sagemaker.service.session import AWS_ERRORS, Session, is_missing
from launchers.sagemaker.service.states import has_ended, in_words, reason_of, state_of
from launchers.sagemaker.service.submission import describe_job


def follow(
    session: Session,
    handle: JobHandle,
    listener: Listener,
    since: float = 0.0,
    to_the_end: bool = True,
) -> Iterator[LogLine]:
    """See :func:`launchers.core.cloud.following.follow`."""
    streams = LogStreams(session, handle.name, since, listener.say)
    return following.follow(_TrainingJob(session, handle, streams), listener, to_the_end)


def status(session: Session, handle: JobHandle) -> JobStatus:
    """See :func:`launchers.core.cloud.following.status`."""
    return following.status(_TrainingJob(session, handle, LogStreams(session, handle.name)))


class _TrainingJob(CloudJob):
    """One training job, and the place in its streams up to which they were read."""

    service = "SageMaker"
    success = "Completed"

    def __init__(self, session: Session, handle: JobHandle, streams: LogStreams):
        super().__init__(session, handle)
        self._session, self._streams = session, streams
        # Ranks on a host, and hosts.
        self._size = (0, 0)

    def look(self) -> Sight | None:
        """DescribeTrainingJob."""
        found = describe_job(self._session, self.handle.name, attempts=1)
        if found is None:
            return None
        self._size = _size(found)
        ended = found.get("TrainingEndTime")
        return Sight(
            state=state_of(found),
            doing=in_words(found),
            ended=has_ended(found),
            ended_at=ended.timestamp() if ended else None,
            reason=reason_of(found),
            expected=expected_of(mapping(found, "Environment")),
            details=_details(self._session, found),
        )

    def lines(self, sight: Sight) -> Iterator[LogLine]:
        """What has come to the job's streams."""
        for raw in self._streams.round():
            yield from _parsed(raw, *self._size)

    def lines_with(
        self, sight: Sight, words: Sequence[str], since: float = 0.0
    ) -> Iterator[LogLine]:
        """FilterLogEvents over all streams."""
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

    def no_such_job(self) -> Problem:
        """See :class:`CloudJob`."""
        return Problem(
            f"sagemaker:{self.handle.name}",
            "no such training job in this account and region",
            "a job's name",
            "check --region and the credentials, see `aws sagemaker list-training-jobs`",
            rule="job-unknown",
        )


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


def _details(session: Session, found: Mapping[str, Any]) -> dict[str, Any]:
    details: dict[str, Any] = {"region": session.region}
    if has_ended(found):
        details["billable_seconds"] = found.get("BillableTimeInSeconds")
        if state_of(found) == SUCCEEDED:
            details["model"] = at(found, "ModelArtifacts", "S3ModelArtifacts") or ""
    for key, name in (("CreationTime", "created"), ("TrainingEndTime", "ended")):
        if found.get(key):
            details[name] = found[key].timestamp()
    return details
