"""Whether ranks seem to train on the same samples. Pure.

Ranks that average their gradients and read the same batches each repeat the same work, and nothing
fails. It may be right (a loss over all ranks' batches at once, synthetic data), so it is said and
never refused.
"""

from __future__ import annotations

import math
from typing import Mapping, Sequence

from launch_runtime import lines
from launch_runtime.evidence.records import ALL, BATCHES, LOSSES, Rank, common

# Of the same batches to the last bit; of losses, which a GPU may add up in another order.
_NEAR = {BATCHES: 0.0, LOSSES: 1e-5}
_LEAST = 3  # values that differ from step to step: a constant says nothing


def alike(ranks: Sequence[Rank], training: Sequence[int]) -> str:
    """Which ranks had the same batches or losses throughout, for the proof; "" where none had.

    Compared are ranks that exchanged what they trained among themselves, and each have the whole
    model: those that hold parts of one may rightly read the same samples.
    """
    groups = _groups(ranks, training)
    for kind in (BATCHES, LOSSES):
        found = max(
            (same for members in groups for same in _same(ranks, members, kind)),
            key=len,
            default=(),
        )
        if found:
            who = "all ranks" if len(found) == len(ranks) else lines.ranks(found)
            return f"{kind} equal in {who} (the same samples?)"
    return ""


def are_alike(ranks: Sequence[Rank], members: Sequence[int]) -> bool:
    """Whether some of these ranks had the same batches or losses throughout, whatever they
    exchanged."""
    return any(_same(ranks, members, kind) for kind in (BATCHES, LOSSES))


def _groups(ranks: Sequence[Rank], training: Sequence[int]) -> list[list[int]]:
    found: dict[object, list[int]] = {}
    whole = [rank for rank in training if not any(one["parts"] for one in ranks[rank].exchanging)]
    for rank in training:
        for one in ranks[rank].exchanging:
            for group in common(one):
                key = ALL if group == ALL else frozenset(group)
                if key not in found:
                    found[key] = [other for other in whole if key == ALL or other in group]
    return list(found.values())


def _same(ranks: Sequence[Rank], members: Sequence[int], kind: str) -> list[tuple[int, ...]]:
    """Ranks with the same values, two at least."""
    firsts = {rank: _of(ranks[rank], kind).get(1) for rank in members}
    # In the order of their first values, equal ones lie side by side, however many ranks there are.
    in_order = sorted((first, rank) for rank, first in firsts.items() if first is not None)
    parts: list[list[int]] = []
    for first, rank in in_order:
        own = _of(ranks[rank], kind)
        for part in reversed(parts):
            if not _is_near(first, firsts[part[0]], kind):
                parts.append([rank])
                break
            if _is_one(own, _of(ranks[part[0]], kind), kind):
                part.append(rank)
                break
        else:
            parts.append([rank])
    return sorted(tuple(sorted(part)) for part in parts if len(part) > 1)


def _of(rank: Rank, kind: str) -> Mapping[int, float]:
    """Nothing where several processes of a rank train."""
    return rank.samples[0].get(kind, {}) if len(rank.samples) == 1 else {}


def _is_one(own: Mapping[int, float], others: Mapping[int, float], kind: str) -> bool:
    shared = sorted(own.keys() & others.keys())
    near = all(_is_near(own[number], others[number], kind) for number in shared)
    return near and len({own[number] for number in shared}) >= _LEAST


def _is_near(one: float, other: float | None, kind: str) -> bool:
    return other is not None and math.isclose(one, other, rel_tol=_NEAR[kind], abs_tol=0.0)
