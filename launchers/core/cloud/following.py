"""A job on a cloud as its service sees it: its lines while it runs, where it stands, how it ended.

A provider says what its service answers (:class:`CloudJob`); what follows from it is decided here,
once for all of them.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from launchers.core.cloud.errors import Cloud, PatientCaller, asked
from launchers.core.cloud.judging import expected_of_job, judged, patience
from launchers.core.cloud.poll import poll_seconds
from launchers.core.cloud.sending import CLOCK_SECONDS
from launchers.core.model.jobs import LOST, SUCCEEDED, JobHandle, JobStatus, Listener, LogLine
from launchers.core.model.problems import (
    EXIT_PROVIDER,
    CredentialsError,
    LaunchError,
    LogsUnreadableError,
    Problem,
)
from launchers.core.output.lines import JobWatch
from launchers.core.proof import Expected
from launchers.core.records.ledger import INTENT, Entry, Ledger
from launchers.core.records.nonce import without_secret

# Lines reach a log service some seconds after they are written. After the job's end this many
# rounds without a line are the end of them.
_QUIET_ROUNDS = 2


@dataclass(frozen=True)
class Sight:
    """A job as its service describes it, in the words of every provider.

    Attributes:
        state: One of the words of :mod:`launchers.core.model.jobs`; ``succeeded`` where the service
            says so, whatever the proof.
        doing: The same in words for a person, with what the service adds.
        ended: Whether the service is done with the job.
        ended_at: When, in seconds since the epoch; None where the service does not say.
        reason: Why it ended as it did; empty for a job that is well.
        expected: What the job's environment asks its output to prove.
        details: What else a status shows.
    """

    state: str
    doing: str
    ended: bool
    ended_at: float | None = None
    reason: str = ""
    expected: Expected = Expected(0)  # noqa: RUF009 - frozen
    details: Mapping[str, Any] = field(default_factory=dict)


class CloudJob(ABC):
    """What following and judging ask a service about one job. Its calls may block.

    Attributes:
        service: The service's name for a person.
        success: The service's own word for a job that succeeded.
    """

    service: ClassVar[str]
    success: ClassVar[str]

    def __init__(self, cloud: Cloud, handle: JobHandle):
        self.cloud, self.handle = cloud, handle

    @abstractmethod
    def look(self) -> Sight | None:
        """The job now, by one attempt; None where there is no such job.

        Raises:
            Exception: One of the cloud's errors.
        """

    @abstractmethod
    def lines(self, sight: Sight) -> Iterator[LogLine]:
        """What has come since the last call. Waits out throttling, lost connections and expired
        credentials.

        Raises:
            Exception: One of the cloud's errors: the caller may not read the logs.
        """

    @abstractmethod
    def lines_with(
        self, sight: Sight, words: Sequence[str], since: float = 0.0
    ) -> Iterator[LogLine]:
        """The lines that hold one of ``words``, without reading all others; in order of time.

        Args:
            since: Leave out what is older, in seconds since the epoch.

        Raises:
            Exception: One of the cloud's errors.
        """

    @abstractmethod
    def no_such_job(self) -> Problem:
        """There is none of that name where it was looked for."""

    def where_else(self) -> str:
        """Where a job may be that the service does not know."""
        return "it was deleted, or runs in another account or region"


def follow(job: CloudJob, listener: Listener, to_the_end: bool = True) -> Iterator[LogLine]:
    """The job's lines; with ``to_the_end`` until it has ended and its last lines have come.

    The proof that goes by is kept in the ledger. States are told to ``listener`` in words.

    Raises:
        LaunchError: There is no such job, or its logs may not be read.
    """
    caller = PatientCaller(job.cloud, listener.say)
    watch: JobWatch | None = None
    said, quiet, ended_at = "", 0, 0.0
    while True:
        sight = _seen(job, caller)
        if watch is None:
            expected = expected_of_job(job, sight)
            watch = expected.watch()
        if to_the_end and sight.doing != said:
            said = sight.doing
            listener.say(f"{job.service}: {said}")
        if not ended_at and sight.ended:
            ended_at = time.monotonic()
        count = 0
        for line in _read(job, sight):
            count += 1
            if line.text.startswith("launch: "):
                watch.see(line)
            yield without_secret(line, expected.nonce)
        if expected.is_met_by(watch.proof):
            _keep_proof(job, watch.proof)
        if not to_the_end:
            return
        quiet = 0 if count or not ended_at else quiet + 1
        if ended_at and quiet >= _QUIET_ROUNDS:
            decided = expected.is_met_by(watch.proof) or watch.failure is not None
            if decided or sight.state != SUCCEEDED or time.monotonic() - ended_at > patience():
                return
        time.sleep(poll_seconds())


def status(job: CloudJob) -> JobStatus:
    """Where the job stands. A final state is kept in the ledger, once nothing can change it.

    Raises:
        LaunchError: There is no such job, or the service does not answer.
    """
    ledger = Ledger()
    entry = ledger.get(job.handle.provider, job.handle.name)
    if entry is not None and entry.final:
        return JobStatus(entry.state, entry.reason, entry.proof, entry.details)
    if entry is not None and entry.state == INTENT and "sent" not in entry.details:
        # Whatever has its name now is somebody else's.
        return _unknown_to_service(job, entry)
    try:
        sight = asked(job.cloud, job.look)
        if sight is None or not _may_be_meant(entry, sight):
            return _unknown_to_service(job, entry)
        result = judged(job, entry, sight)
    except job.cloud.errors as error:
        raise _refused(job, error) from None
    if entry is not None:
        _keep(ledger, entry, result, sight)
    return result


def _may_be_meant(entry: Entry | None, sight: Sight) -> bool:
    """Whether it is not a job that was there before the intent, under the same name."""
    if entry is None or entry.state != INTENT:
        return True
    created = sight.details.get("created")
    return created is None or float(created) >= entry.created - CLOCK_SECONDS


def _refused(job: CloudJob, error: Exception) -> LaunchError:
    refusal = job.cloud.refused(error, f"{job.service}, {job.handle.name}")
    if isinstance(refusal, CredentialsError):
        refusal.renewal = job.cloud.how_to_renew()
        # The next question reads them again.
        job.cloud.renew()
    return refusal


def _seen(job: CloudJob, caller: PatientCaller) -> Sight:
    try:
        sight = caller.call(job.look)
    except job.cloud.errors as error:
        raise _refused(job, error) from None
    if sight is None:
        raise LaunchError(job.no_such_job())
    return sight


def _read(job: CloudJob, sight: Sight) -> Iterator[LogLine]:
    try:
        yield from job.lines(sight)
    except job.cloud.errors as error:
        problems = job.cloud.refused(error, f"the logs of {job.handle.name}").problems
        raise LogsUnreadableError(problems, EXIT_PROVIDER) from None


def _keep_proof(job: CloudJob, proof: str) -> None:
    ledger = Ledger()
    entry = ledger.get(job.handle.provider, job.handle.name)
    if entry is not None and entry.proof != proof:
        ledger.update(entry, proof=proof)


def _keep(ledger: Ledger, entry: Entry, result: JobStatus, sight: Sight) -> None:
    changes: dict[str, Any] = {}
    unreadable = bool(result.details.get("unreadable"))
    if result.proof and result.proof != entry.proof and not unreadable:
        changes["proof"] = result.proof
    if not result.final:
        changes["state"] = result.state
    elif not unreadable:
        changes |= {"state": result.state, "reason": result.reason}
        changes["details"] = {**entry.details, **result.details}
        changes["ended"] = sight.ended_at or time.time()
    if changes and changes != {"state": entry.state}:
        ledger.update(entry, **changes)


def _unknown_to_service(job: CloudJob, entry: Entry | None) -> JobStatus:
    if entry is None:
        raise LaunchError(job.no_such_job())
    if entry.state == INTENT:
        begun = "begun and not sent"
        if "sent" in entry.details:
            begun = f"begun, and {job.service} does not know it"
        reason = f"{begun}; the same command again sends it"
        return JobStatus(INTENT, reason, "", entry.details)
    reason = f"{job.service} does not know it: {job.where_else()}"
    if entry.proof:
        reason += f" (it had proven {entry.proof})"
    # Not kept: with other credentials it may be there again.
    return JobStatus(LOST, reason, entry.proof, entry.details)
