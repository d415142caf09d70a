"""What a rehearsal's end means: its state, its reason in one line, and the result as a whole."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from launchers.core.containers import Container
from launchers.core.logs import proven
from launchers.core.plan import counted
from launchers.core.provider import FAILED, LOST, NOT_PROVEN, STOPPED, SUCCEEDED, TIMED_OUT
from launchers.rehearsal import act
from launchers.rehearsal.act import ActEnd, Seen

_HOSTS = re.compile(r": (\d+) hosts? x ")


@dataclass(frozen=True)
class Expected:
    """What the containers must prove.

    Attributes:
        world_size: Of this rehearsal.
        document_world_size: Of the document; larger where ``--ranks-per-host`` reduced it.
        hosts: Containers.
    """

    world_size: int
    document_world_size: int
    hosts: int


@dataclass(frozen=True)
class RehearsalResult:
    """How a rehearsal ended.

    Attributes:
        state: A final state of :mod:`launchers.core.provider`.
        reason: One line; empty where it succeeded.
        proof: The proof line's text, or an empty string.
        deviations: What was not as in the cloud, as it was printed first.
        warnings: Worth knowing although it succeeded.
        seconds: Part of the time -> its seconds; ``total`` is all of it.
        folder: Where model, output and log lie.
        collected: Name -> folder that was copied out of the containers, where it held anything.
        differences: What differs between the hosts' folders.
        refused: What was not copied out, with the reason.
        halves: One line for each half of an interrupted rehearsal, and for each time that the
            service would have run the job again.
        failure: The first ``launch: failure`` object, or None.
        tail: The last lines of the rank that failed first.
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
    halves: tuple[str, ...] = ()
    failure: Mapping[str, Any] | None = None
    tail: tuple[str, ...] = ()


def judged(
    end: ActEnd, seen: Seen, expected: Expected, containers: Sequence[Container], limit: int | None
) -> tuple[str, str]:
    """State and reason of an act's end.

    Args:
        limit: The document's time limit in seconds, for the reason.
    """
    if end.kind == act.ENGINE_LOST:
        return LOST, f"the Docker engine went away ({end.error})"
    if end.kind == act.TIMED_OUT:
        return TIMED_OUT, f"the document's time limit of {limit} s was reached"
    if end.ending is None:
        return STOPPED, "interrupted"
    if not end.ending.well:
        return FAILED, _why_failed(end, seen, expected, containers)
    if seen.watch.failure:
        # The toolkit ends a container with 0 where it cannot write down a rank's failure.
        text = seen.watch.failure.get("reason", "")
        return FAILED, f"a rank failed, and the containers ended with 0 all the same: {text}"
    problem = _unproven(seen, expected, containers)
    if problem:
        explained = f" ({seen.causes.text})" if seen.causes.text else ""
        return NOT_PROVEN, f"completed but not proven: {problem}{explained}"
    return SUCCEEDED, ""


def _why_failed(
    end: ActEnd, seen: Seen, expected: Expected, containers: Sequence[Container]
) -> str:
    assert end.ending is not None
    alone = _alone(containers, expected)
    failure = seen.watch.failure
    if failure and failure.get("reason"):
        text = str(failure["reason"])
        who = f"rank {failure.get('rank')} on {failure.get('host')}"
        cause = text if text.startswith("rank ") else f"{who}: {text}"
    else:
        cause = seen.causes.text
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


def _unproven(seen: Seen, expected: Expected, containers: Sequence[Container]) -> str:
    """Why the proof is none; empty where it is one."""
    if not seen.proofs:
        alone = _alone(containers, expected)
        return alone or "no rank has shown that Horovod made one job of them (no proof line)"
    if len(seen.proofs) > 1:
        sizes = ", ".join(f"{host}: {text}" for host, text in sorted(seen.proofs.items()))
        return f"{counted(len(seen.proofs), 'job')} instead of one ({sizes})"
    text = next(iter(seen.proofs.values()))
    hosts = _HOSTS.search(text)
    if proven(text, expected.world_size) and hosts and int(hosts[1]) == expected.hosts:
        return ""
    return f"{text}; expected world size {expected.world_size} on {counted(expected.hosts, 'host')}"
