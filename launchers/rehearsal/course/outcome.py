"""What a rehearsal's end means: its state, its reason in one line, and the result as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from launchers.core import proof
from launchers.core.model.containers import Container
from launchers.core.model.jobs import FAILED, LOST, STOPPED, SUCCEEDED, TIMED_OUT
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
    return proof.verdict(said, seen.watch, expected, jobs=seen.proofs)


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
