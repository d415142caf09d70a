"""How a job on a cloud ended: succeeded when the service says so and its output proves it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from launchers.core.cloud import asked
from launchers.core.ledger import Entry
from launchers.core.logs import JobWatch
from launchers.core.poll import poll_seconds
from launchers.core.provider import FAILED, NOT_PROVEN, RUNNING, SUCCEEDED, JobStatus

if TYPE_CHECKING:
    from launchers.core.following import CloudJob, Sight

# Where the line that decides is missing, so many looks after the job's end.
_PATIENCE_LOOKS = 10


def patience() -> float:
    """Seconds after a job's end in which a line of its log may still come: 30 by default."""
    return _PATIENCE_LOOKS * poll_seconds()


def judged(job: CloudJob, entry: Entry | None, sight: Sight) -> JobStatus:
    """Where the job stands, by what the service and the job's lines say. May block.

    Args:
        entry: The ledger's entry of the job, whose proof counts.

    Raises:
        Exception: One of the cloud's errors: the log gives no answer now, and may do later.
    """
    state, reason = sight.state, sight.reason
    details: dict[str, Any] = {**job.handle.details, **sight.details}
    details["world_size"] = sight.world_size
    proof = entry.proof if entry is not None else ""
    if not sight.ended:
        return JobStatus(state, "", proof, {**details, "doing": sight.doing})
    watch = JobWatch()
    unreadable = _search(job, sight, watch)
    proof = watch.proof or proof
    if watch.failure and state == SUCCEEDED:
        # A platform may end a container with 0 although a rank has failed.
        state, reason = FAILED, f"the service says {job.success} all the same"
    if watch.failure:
        details["failure"] = watch.failure
        reason = f"{_first_failure(watch.failure)} ({reason})"
    if state == SUCCEEDED and not sight.is_proven(proof):
        if not unreadable and _is_late(sight):
            doing = "completed; its last lines are not in the log yet"
            return JobStatus(RUNNING, "", proof, {**details, "doing": doing})
        state, reason = NOT_PROVEN, _why_not_proven(proof, sight, unreadable)
        details["unreadable"] = unreadable
    return JobStatus(state, reason, proof, details)


def _search(job: CloudJob, sight: Sight, watch: JobWatch) -> str:
    """Let ``watch`` see the lines that decide; gives why they can't be read."""
    cloud = job.cloud
    try:
        lines = asked(cloud, lambda: list(job.deciding_lines(sight)))
    except cloud.errors as error:
        # No answer is no verdict: a job is not called unproven for a service that is busy.
        if cloud.is_passing(error) or cloud.is_expired(error):
            raise
        return cloud.message_of(error)
    for line in lines:
        watch.see(line)
    return ""


def _first_failure(failure: dict[str, Any]) -> str:
    rank, host = failure.get("rank"), failure.get("host")
    who = f"rank {rank} on {host}" if rank is not None else str(host or "the job's own code")
    return f"{who} failed first: {failure.get('reason', '')}"


def _why_not_proven(proof: str, sight: Sight, unreadable: str) -> str:
    if unreadable:
        return f"completed, but its logs cannot be read, so nothing proves it ({unreadable})"
    if proof:
        expected = sight.world_size
        return f"completed, but it proved another job: {proof}; expected world size {expected}"
    return f"completed, but no line in its logs proves world size {sight.world_size}"


def _is_late(sight: Sight) -> bool:
    """Whether the job's end is so near that lines of its log may still come."""
    return sight.ended_at is not None and time.time() - sight.ended_at < patience()
