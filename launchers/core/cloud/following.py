"""A job on a cloud as its service sees it: its lines while it runs, where it stands, how it ended.

A cloud says what its service answers (:class:`CloudJob`); what follows from it is decided here,
once for all of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from launchers.core.cloud.errors import RetryingCaller, with_retries
from launchers.core.cloud.job import CLOCK_SECONDS, CloudJob, Observation
from launchers.core.cloud.judging import decide, expected_of_job, log_settle_seconds
from launchers.core.cloud.poll import poll_seconds
from launchers.core.model.jobs import LOST, SUCCEEDED, JobStatus, Listener, LogLine
from launchers.core.model.problems import (
    EXIT_PROVIDER,
    CredentialsError,
    LaunchError,
    LogsUnreadableError,
)
from launchers.core.output.lines import JobWatch
from launchers.core.proof import Expected
from launchers.core.records.entry import INTENT, Entry
from launchers.core.records.ledger import Ledger
from launchers.core.records.nonce import without_secret

# Lines reach a log service some seconds after they are written. After the job's end this many
# rounds without a line are the end of them.
_QUIET_ROUNDS = 2


def follow(
    job: CloudJob, listener: Listener, to_the_end: bool, watch: JobWatch | None = None
) -> Iterator[LogLine]:
    """The job's lines; with ``to_the_end`` until it has ended and its last lines have come.

    The proof that goes by is kept in the ledger. States are told to ``listener`` in words.

    Args:
        watch: Sees each line before it is given, and learns what the job's own lines carry.

    Raises:
        LaunchError: There is no such job, or its logs may not be read.
    """
    caller = RetryingCaller(job.cloud, listener.say)
    expected: Expected | None = None
    sees_all, watch = watch is not None, watch or JobWatch()
    said, quiet, ended_at = "", 0, 0.0
    while True:
        observed = _seen(job, caller)
        if expected is None:
            expected = expected_of_job(job, observed)
            watch.stamp, watch.world_size = expected.stamp, expected.world_size
        if to_the_end and observed.summary != said:
            said = observed.summary
            listener.say(f"{job.service}: {said}")
        if not ended_at and observed.ended:
            ended_at = time.monotonic()
        came = False
        for line in _read(job, observed):
            came = True
            public = without_secret(line, expected.nonce)
            if sees_all or line.text.startswith("launch: "):
                watch.see(public)
            yield public
        if expected.is_met_by(watch.proof):
            _keep_proof(job, watch.proof)
        if not to_the_end:
            return
        quiet = 0 if came or not ended_at else quiet + 1
        if ended_at and quiet >= _QUIET_ROUNDS:
            decided = expected.is_met_by(watch.proof) or watch.failure is not None
            settled = time.monotonic() - ended_at > log_settle_seconds()
            if decided or settled or observed.state != SUCCEEDED:
                return
        time.sleep(poll_seconds())


def status(job: CloudJob, entry: Entry | None) -> JobStatus:
    """The job's state. A final one is kept in the ledger, once nothing can change it.

    Args:
        entry: The ledger's entry of the job, which is not final there.

    Raises:
        LaunchError: There is no such job, or the service does not answer.
    """
    if entry is not None and entry.state == INTENT and "sent" not in entry.details:
        # Whatever has its name now is somebody else's.
        return _unknown_to_service(job, entry)
    try:
        observed = with_retries(job.cloud, job.poll)
        if observed is None or not _may_be_meant(entry, observed):
            return _unknown_to_service(job, entry)
        result = decide(job, entry, observed)
    except job.cloud.errors as error:
        raise _refused(job, error) from None
    if entry is not None:
        _keep(Ledger(), entry, result, observed)
    return result


def _may_be_meant(entry: Entry | None, observed: Observation) -> bool:
    """Whether it is not a job that was there before the intent, under the same name."""
    if entry is None or entry.state != INTENT:
        return True
    created = observed.details.get("created")
    return created is None or float(created) >= entry.created - CLOCK_SECONDS


def _refused(job: CloudJob, error: Exception) -> LaunchError:
    refusal = job.cloud.refused(error, f"{job.service}, {job.handle.name}")
    if isinstance(refusal, CredentialsError):
        refusal.renewal = job.cloud.how_to_renew()
        # The next question reads them again.
        job.cloud.renew()
    return refusal


def _seen(job: CloudJob, caller: RetryingCaller) -> Observation:
    try:
        observed = caller.call(job.poll)
    except job.cloud.errors as error:
        raise _refused(job, error) from None
    if observed is None:
        raise LaunchError(job.no_such_job())
    return observed


def _read(job: CloudJob, observed: Observation) -> Iterator[LogLine]:
    try:
        yield from job.lines(observed)
    except job.cloud.errors as error:
        problems = job.cloud.refused(error, f"the logs of {job.handle.name}").problems
        raise LogsUnreadableError(problems, EXIT_PROVIDER) from None


def _keep_proof(job: CloudJob, proof: str) -> None:
    ledger = Ledger()
    entry = ledger.get(job.handle.provider, job.handle.name)
    if entry is not None and entry.proof != proof:
        with suppress(LaunchError):  # see _keep
            ledger.update(entry, proof=proof)


def _keep(ledger: Ledger, entry: Entry, result: JobStatus, observed: Observation) -> None:
    changes: dict[str, Any] = {}
    unreadable = bool(result.details.get("unreadable"))
    if result.proof and result.proof != entry.proof and not unreadable:
        changes["proof"] = result.proof
    if not result.final:
        changes["state"] = result.state
    elif not unreadable:
        changes |= {"state": result.state, "reason": result.reason}
        changes["details"] = {**entry.details, **result.details}
        changes["ended"] = observed.ended_at or time.time()
    if changes and changes != {"state": entry.state}:
        # A full disk hides nothing that the service says, and keeps nobody from ending a job that
        # costs money: what was not kept is asked for again.
        with suppress(LaunchError):
            ledger.update(entry, **changes)


def _unknown_to_service(job: CloudJob, entry: Entry | None) -> JobStatus:
    if entry is None:
        raise LaunchError(job.no_such_job())
    if entry.state == INTENT:
        begun = "prepared but not sent"
        if "sent" in entry.details:
            begun = f"prepared, but {job.service} does not know it"
        reason = f"{begun}; run the same command again to send it"
        return JobStatus(INTENT, reason, "", entry.details)
    reason = f"{job.service} does not know it: {job.where_else()}"
    if entry.proof:
        reason += f" (it had proven {entry.proof})"
    # Not kept: with other credentials it may be there again.
    return JobStatus(LOST, reason, entry.proof, entry.details)
