"""A job as the service sees it: its lines while it runs, where it stands, how it ended."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from launchers.core.document import at, whole_number
from launchers.core.ledger import INTENT, Entry, Ledger
from launchers.core.logs import JobWatch, proven
from launchers.core.mpi_output import untangled
from launchers.core.poll import poll_seconds
from launchers.core.problems import EXIT_PROVIDER, LaunchError, LogsUnreadableError, Problem
from launchers.core.provider import (
    FAILED,
    LOST,
    NOT_PROVEN,
    RUNNING,
    SUCCEEDED,
    JobHandle,
    JobStatus,
    Listener,
    LogLine,
)
from launchers.sagemaker.log_streams import GROUP, LogStreams, PatientCaller, RawLine
from launchers.sagemaker.session import AWS_ERRORS, Session, is_missing, message_of, refused
from launchers.sagemaker.states import has_ended, in_words, reason_of, state_of
from launchers.sagemaker.submission import describe_job

# Lines reach CloudWatch some seconds after they are written. After the job's end this many rounds
# without a line are the end of them; and where the line that decides is missing, so many looks.
_QUIET_ROUNDS = 2
_PATIENCE_LOOKS = 10


def _patience() -> float:
    """Seconds after a job's end in which a line of its log may still come: 30 by default."""
    return _PATIENCE_LOOKS * poll_seconds()


def follow(
    session: Session,
    handle: JobHandle,
    listener: Listener,
    since: float = 0.0,
    to_the_end: bool = True,
) -> Iterator[LogLine]:
    """The job's lines; with ``to_the_end`` until it has ended and its last lines have come.

    The proof that goes by is kept in the ledger. States are told to ``listener`` in words.

    Raises:
        LaunchError: There is no such job, or its logs may not be read.
    """
    caller = PatientCaller(session, listener.say)
    streams = LogStreams(session, handle.name, since, listener.say)
    watch, said, quiet, ended_at = JobWatch(), "", 0, 0.0
    while True:
        found = _described(caller, session, handle.name)
        if to_the_end and in_words(found) != said:
            said = in_words(found)
            listener.say(f"SageMaker: {said}")
        if not ended_at and has_ended(found):
            ended_at = time.monotonic()
        size = _ranks_a_host(found)
        lines = 0
        for raw in _read(streams, handle.name):
            lines += 1
            for line in _parsed(raw, *size):
                if line.text.startswith("launch: "):
                    watch.see(line)
                yield line
        _keep_proof(handle, watch, found)
        if not to_the_end:
            return
        quiet = 0 if lines or not ended_at else quiet + 1
        if ended_at and quiet >= _QUIET_ROUNDS:
            decided = _proven(watch.proof, found) or watch.failure or not _is_completed(found)
            if decided or time.monotonic() - ended_at > _patience():
                return
        time.sleep(poll_seconds())


def status(session: Session, handle: JobHandle) -> JobStatus:
    """Where the job stands. A final state is kept in the ledger, once nothing can change it."""
    ledger = Ledger()
    entry = ledger.get(handle.provider, handle.name)
    if entry is not None and entry.final:
        return JobStatus(entry.state, entry.reason, entry.proof, entry.details)
    try:
        found = describe_job(session, handle.name)
    except AWS_ERRORS as error:
        raise refused(error, f"SageMaker, {handle.name}") from None
    if found is None:
        return _unknown_to_service(handle, entry, ledger)
    result = _judged(session, handle, entry, found)
    if entry is not None:
        _keep(ledger, entry, result, found)
    return result


def _judged(
    session: Session, handle: JobHandle, entry: Entry | None, found: Mapping[str, Any]
) -> JobStatus:
    state, reason = state_of(found), reason_of(found)
    details = _details(session, handle, found)
    proof = entry.proof if entry is not None else ""
    if not has_ended(found):
        return JobStatus(state, "", proof, {**details, "doing": in_words(found)})
    watch = JobWatch()
    unreadable = _search(session, handle.name, watch)
    proof = watch.proof or proof
    if watch.failure and state == SUCCEEDED:
        # The toolkit ends a container with 0 where it cannot write down a rank's failure.
        state, reason = FAILED, "the service says Completed all the same"
    if watch.failure:
        details["failure"] = watch.failure
        first = f"rank {watch.failure.get('rank')} on {watch.failure.get('host')} failed first"
        reason = f"{first}: {watch.failure.get('reason', '')} ({reason})"
    if state == SUCCEEDED and not _proven(proof, found):
        if not unreadable and _is_late(found):
            doing = "completed; its last lines are not in the log yet"
            return JobStatus(RUNNING, "", proof, {**details, "doing": doing})
        state, reason = NOT_PROVEN, _why_not_proven(proof, found, unreadable)
        details["unreadable"] = unreadable
    return JobStatus(state, reason, proof, details)


def _why_not_proven(proof: str, found: Mapping[str, Any], unreadable: str) -> str:
    if unreadable:
        return f"completed, but its logs cannot be read, so nothing proves it ({unreadable})"
    expected = _world_size(found)
    if proof:
        return f"completed, but it proved another job: {proof}; expected world size {expected}"
    return f"completed, but no line in its logs proves world size {expected}"


def _search(session: Session, name: str, watch: JobWatch) -> str:
    """Look for the lines that decide, without reading all others; gives why they can't be read."""
    try:
        for page in (
            session.client("logs")
            .get_paginator("filter_log_events")
            .paginate(
                logGroupName=GROUP,
                logStreamNamePrefix=f"{name}/",
                filterPattern='?"launch: proof" ?"launch: failure"',
            )
        ):
            for event in page["events"]:
                host = event["logStreamName"].rpartition("/")[2].rpartition("-")[0]
                for line in untangled(event["message"], event["timestamp"] / 1000, host):
                    watch.see(line)
    except AWS_ERRORS as error:
        return "" if is_missing(error) else message_of(error)
    return ""


def _keep(ledger: Ledger, entry: Entry, result: JobStatus, found: Mapping[str, Any]) -> None:
    changes: dict[str, Any] = {}
    if result.proof and result.proof != entry.proof:
        changes["proof"] = result.proof
    if not result.final:
        changes["state"] = result.state
    elif not result.details.get("unreadable"):
        ended = found.get("TrainingEndTime")
        changes |= {"state": result.state, "reason": result.reason}
        changes["details"] = {**entry.details, **result.details}
        changes["ended"] = ended.timestamp() if ended else time.time()
    if changes and changes != {"state": entry.state}:
        ledger.update(entry, **changes)


def _is_late(found: Mapping[str, Any]) -> bool:
    """Whether the job's end is so near that lines of its log may still come."""
    ended = found.get("TrainingEndTime")
    return ended is not None and time.time() - ended.timestamp() < _patience()


def _unknown_to_service(handle: JobHandle, entry: Entry | None, ledger: Ledger) -> JobStatus:
    if entry is None:
        raise LaunchError(_no_such_job(handle.name))
    if entry.state == INTENT:
        reason = "begun and not sent; the same command again sends it"
        return JobStatus(INTENT, reason, "", entry.details)
    reason = "SageMaker does not know it: it was deleted, or runs in another account or region"
    if entry.proof:
        reason += f" (it had proven {entry.proof})"
    # Not kept: with other credentials it may be there again.
    return JobStatus(LOST, reason, entry.proof, entry.details)


def _described(caller: PatientCaller, session: Session, name: str) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = caller.call(
            "sagemaker", "describe_training_job", TrainingJobName=name
        )
    except AWS_ERRORS as error:
        if is_missing(error):
            raise LaunchError(_no_such_job(name)) from None
        raise refused(error, f"SageMaker, {name}") from None
    return found


def _read(streams: LogStreams, name: str) -> Iterator[RawLine]:
    try:
        yield from streams.round()
    except AWS_ERRORS as error:
        raise LogsUnreadableError(
            refused(error, f"the logs of {name}").problems, EXIT_PROVIDER
        ) from None


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


def _ranks_a_host(found: Mapping[str, Any]) -> tuple[int, int]:
    environment = at(found, "Environment") or {}
    processes = whole_number(environment.get("LAUNCH_PROCESSES")) or 0
    return processes, whole_number(environment.get("LAUNCH_INSTANCES")) or 0


def _world_size(found: Mapping[str, Any]) -> int:
    return whole_number(at(found, "Environment", "LAUNCH_WORLD_SIZE")) or 0


def _proven(proof: str, found: Mapping[str, Any]) -> bool:
    return proven(proof, _world_size(found))


def _is_completed(found: Mapping[str, Any]) -> bool:
    return state_of(found) == SUCCEEDED


def _keep_proof(handle: JobHandle, watch: JobWatch, found: Mapping[str, Any]) -> None:
    if not _proven(watch.proof, found):
        return
    ledger = Ledger()
    entry = ledger.get(handle.provider, handle.name)
    if entry is not None and entry.proof != watch.proof:
        ledger.update(entry, proof=watch.proof)


def _details(session: Session, handle: JobHandle, found: Mapping[str, Any]) -> dict[str, Any]:
    details: dict[str, Any] = {**handle.details, "region": session.region}
    details["world_size"] = _world_size(found)
    if has_ended(found):
        details["billable_seconds"] = found.get("BillableTimeInSeconds")
        if _is_completed(found):
            details["model"] = at(found, "ModelArtifacts", "S3ModelArtifacts") or ""
    for key, name in (("CreationTime", "created"), ("TrainingEndTime", "ended")):
        if found.get(key):
            details[name] = found[key].timestamp()
    return details


def _no_such_job(name: str) -> Problem:
    return Problem(
        f"sagemaker:{name}",
        "no such training job in this account and region",
        "a job's name",
        "check --region and the credentials, see `aws sagemaker list-training-jobs`",
        rule="job-unknown",
    )
