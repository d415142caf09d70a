"""What a rehearsal's end means: its state, its reason in one line, and the result as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from launchers.core import proof
from launchers.core.model.containers import Container
from launchers.core.model.jobs import FAILED, LOST, NOT_PROVEN, STOPPED, SUCCEEDED, TIMED_OUT
from launchers.core.planning.plan import counted
from launchers.rehearsal.course.attempt import ENGINE_LOST, AttemptEnd, Seen
from launchers.rehearsal.staging.expected import Expected


@dataclass(frozen=True)
class RehearsalResult:
    """How a rehearsal ended.

    Attributes:
        state: A final state of :mod:`launchers.core.model.jobs`.
        reason: One line; empty where it succeeded.
        proof: The proof line's text, or an empty string.
        deviations: What was not as in the cloud, as it was printed first.
        warnings: Worth knowing although it succeeded.
        seconds: Part of the time -> its seconds; ``total`` is all of it.
        folder: Where model, output and log lie.
        collected: Name -> folder that was copied out of the containers, where it held anything.
        differences: What differs between the hosts' folders.
        refused: What was not copied out, with the reason.
        restarts: One line for each half of an interrupted rehearsal, and for each time that the
            service would have run the job again.
        failure: The first ``launch: failure`` object, or None.
        tail: The last lines of the rank that failed first.
        fix: What to change, where that is known.
        copies: As how many jobs, each of its own, the hosts ran; 0 where they are one.
    """

    id: str
    name: str
    state: str
    reason: str
    proof: str
    expected: Expected
    deviations: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    folder: Path | None = None
    collected: Mapping[str, Path] = field(default_factory=dict)
    differences: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    restarts: tuple[str, ...] = ()
    failure: Mapping[str, Any] | None = None
    tail: tuple[str, ...] = ()
    fix: str = ""
    copies: int = 0


def judged(
    end: AttemptEnd,
    seen: Seen,
    expected: Expected,
    containers: Sequence[Container],
    limit: int | None,
) -> proof.Verdict:
    """The one verdict on the end of an attempt.

    Args:
        limit: The document's time limit in seconds, for the reason.
    """
    said = _said(end, seen, expected, containers, limit)
    found = proof.verdict(said, seen.watch, expected, jobs=seen.proofs)
    if found.state == SUCCEEDED and copies_of(containers, expected, seen):
        # The size is the one that was asked for, and still nobody trained together.
        hosts = ", ".join(container.name for container in containers)
        reason = (
            f"completed, but as {len(containers)} copies of one job, which train apart: {hosts}"
        )
        return replace(found, state=NOT_PROVEN, reason=reason)
    return found


def copies_of(containers: Sequence[Container], expected: Expected, seen: Seen) -> int:
    """As how many jobs the hosts ran, where each started one of its own; 0 where it was one.

    Hosts that the service gives no ranks may still find each other: where more than one rank was
    meant, only what a rank said of its own world tells.
    """
    if len(containers) < 2 or any(container.ranks for container in containers):
        return 0
    reason = str((seen.watch.failure or {}).get("reason", ""))
    alone = any(text.startswith("world size 1:") for text in seen.proofs.values())
    if expected.world_size > 1 and not alone and "found world size 1 " not in reason:
        return 0
    return len(containers)


def _said(
    end: AttemptEnd,
    seen: Seen,
    expected: Expected,
    containers: Sequence[Container],
    limit: int | None,
) -> proof.Said:
    """What the containers' end says by itself."""
    if end.kind == ENGINE_LOST:
        return proof.Said(LOST, f"the Docker engine went away ({end.error})")
    if end.kind == TIMED_OUT:
        return proof.Said(TIMED_OUT, f"the document's time limit of {limit} s was reached")
    if end.ending is None:
        return proof.Said(STOPPED, "interrupted")
    if not end.ending.well:
        reason = _why_failed(end, seen, expected, containers)
        return proof.Said(FAILED, reason, explained=True)
    hints = [_alone(containers, expected), seen.causes.text]
    return proof.Said(
        SUCCEEDED,
        words="the containers ended with 0",
        hint="; ".join(text for text in hints if text),
    )


def _why_failed(
    end: AttemptEnd, seen: Seen, expected: Expected, containers: Sequence[Container]
) -> str:
    assert end.ending is not None
    alone = _alone(containers, expected)
    failure = seen.watch.failure
    cause = proof.first_failure(failure) if failure and failure.get("reason") else seen.causes.text
    leader = next((item.name for item in containers if item.leader), containers[0].name)
    killed = end.ending.code is not None and end.ending.code > 128
    # Where a host was killed, what the others say of it is a consequence.
    host_killed = killed and end.ending.container != leader
    parts = [alone, end.ending.fault, "" if host_killed else cause]
    return ": ".join(part for part in parts if part)


def _alone(containers: Sequence[Container], expected: Expected) -> str:
    """Said where every host was a job of its own."""
    if len(containers) < 2 or any(container.ranks for container in containers):
        return ""
    if expected.world_size < 2:
        return ""
    return (
        f"{counted(len(containers), 'job')} of world size 1 where one of "
        f"{expected.world_size} was expected"
    )
