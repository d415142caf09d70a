"""How a job on a cloud ended: what the service says, and the lines of its log that decide, for
the one verdict (:mod:`launchers.core.proof`)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from launchers.core.cloud.errors import with_retries
from launchers.core.cloud.job import CloudJob, Observation
from launchers.core.cloud.poll import poll_seconds
from launchers.core.model.jobs import FAILED, RUNNING, SUCCEEDED, JobStatus
from launchers.core.output.lines import JobWatch
from launchers.core.proof import Expected, Said, verdict
from launchers.core.records.entry import Entry
from launchers.core.records.ledger import Ledger

# Where a line that decides is missing, so many polls after the job's end.
_SETTLE_POLLS = 10
_VERDICT_LINES = ("launch: proof", "launch: failure")
_EVIDENCE = ("launch: evidence",)
# Ranks print their evidence at most once a minute, and the last one counts: it stands near the
# job's end, unless a rank left early. Beyond so many lines it is no job of ours.
_EVIDENCE_SECONDS = 600.0
_MOST_EVIDENCE_LINES = 50_000


def log_settle_seconds() -> float:
    """Seconds after a job's end in which a line of its log may still come: 30 by default."""
    return _SETTLE_POLLS * poll_seconds()


def expected_of_job(job: CloudJob, observed: Observation, entry: Entry | None = None) -> Expected:
    """What the job's output must prove: as its service describes it, with the nonce that the
    ledger has drawn for it."""
    entry = entry or Ledger().get(job.handle.provider, job.handle.name)
    if entry is None or not entry.nonce:
        return observed.expected
    return replace(observed.expected, nonce=entry.nonce)


def decide(job: CloudJob, entry: Entry | None, observed: Observation) -> JobStatus:
    """Where the job stands, by what the service and the job's lines say. May block.

    Args:
        entry: The ledger's entry of the job, whose proof counts.

    Raises:
        Exception: One of the cloud's errors: the log gives no answer now, and may do later.
    """
    expected = expected_of_job(job, observed, entry)
    details: dict[str, Any] = {**job.handle.details, **observed.details}
    details.update(world_size=expected.world_size, strategy=expected.strategy)
    known = entry.proof if entry is not None else ""
    if not observed.ended:
        return JobStatus(observed.state, "", known, {**details, "doing": observed.summary})
    watch = expected.watch()
    unreadable = _search(job, observed, watch, _VERDICT_LINES)
    awaited = expected.asks_for_evidence(watch.proof or known)
    if awaited and not unreadable and not watch.failure and observed.state == SUCCEEDED:
        unreadable = _gather(job, observed, watch, expected)
    words = f"{job.service} says {job.success}"
    said = Said(observed.state, observed.reason, words, unreadable=unreadable)
    found = verdict(said, watch, expected, known)
    if watch.failure:
        details["failure"] = watch.failure
    if observed.state == SUCCEEDED and found.state != FAILED:
        open_ = found.state != SUCCEEDED or found.missing
        if open_ and not unreadable and _is_late(observed):
            doing = "completed; its last lines are not in the log yet"
            return JobStatus(RUNNING, "", known, {**details, "doing": doing})
        if unreadable and (awaited or found.state != SUCCEEDED):
            # Not kept as the end: the lines may say otherwise once they can be read.
            details["unreadable"] = unreadable
    if found.fix:
        details["fix"] = found.fix
    return JobStatus(found.state, found.reason, found.proof, details)


def _gather(job: CloudJob, observed: Observation, watch: JobWatch, expected: Expected) -> str:
    """Let ``watch`` see the ranks' evidence; gives why it can't be read."""
    since = (observed.ended_at or time.time()) - _EVIDENCE_SECONDS
    unreadable = _search(job, observed, watch, _EVIDENCE, since)
    if not unreadable and len(watch.evidence()) < expected.world_size:
        # Some rank left before, or storing the model took long.
        unreadable = _search(job, observed, watch, _EVIDENCE)
    return unreadable


def _search(
    job: CloudJob, observed: Observation, watch: JobWatch, words: Sequence[str], since: float = 0.0
) -> str:
    """Let ``watch`` see the lines with ``words``; gives why they can't be read."""
    cloud = job.cloud

    def read() -> list[Any]:
        return list(islice(job.lines_with(observed, words, since), _MOST_EVIDENCE_LINES))

    try:
        lines = with_retries(cloud, read)
    except cloud.errors as error:
        # No answer is no verdict: a job is not called unproven for a service that is busy.
        if cloud.is_passing(error) or cloud.is_expired(error):
            raise
        return cloud.message_of(error)
    for line in lines:
        watch.see(line)
    return ""


def _is_late(observed: Observation) -> bool:
    """Whether the job's end is so near that lines of its log may still come."""
    return observed.ended_at is not None and time.time() - observed.ended_at < log_settle_seconds()
