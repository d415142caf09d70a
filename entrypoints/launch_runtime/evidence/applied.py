"""Whether ranks put into their gradients what an exchange of these gave. Pure.

``hvd.allreduce(parameter.grad)`` gives a new tensor and leaves the gradient as it was: a script
that does not assign it trains each rank apart, though gradients go from rank to rank. So does one
that averages them after the step, or computes more of them after the average. So the gradients that
the ranks applied in the same step are compared: they are those of one average, or each rank's own.
TensorFlow's tensors do not change: there one that went out and is applied itself says it alone.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Sequence

from launch_runtime import lines
from launch_runtime.evidence.finding import OPT_OUT, Finding
from launch_runtime.evidence.prints import FAR_APART, SAME_WEIGHTS, distance
from launch_runtime.evidence.records import ALL, LIKE, OWN, Rank, Record, placed, table
from launch_runtime.evidence.samples import are_alike
from launch_runtime.words import Words


class Judged(NamedTuple):
    """The ranks' records, where gradients are known by now for what they are; or a failure.

    Attributes:
        ranks: The records.
        failure: Why the ranks trained apart, or None.
        is_own: Whether something like the gradients went, and each rank applied its own.
    """

    ranks: list[Rank]
    failure: Finding | None
    is_own: bool = False


def judged(ranks: Sequence[Rank], training: Sequence[int], words: Words) -> Judged:
    """Looks at the sets whose gradients went out, and may have been applied without what came."""
    for sets in _alike(ranks, training, lambda one: one["wasted"], lambda one: ALL).values():
        far = _far(sets, "weights")
        if len(sets) > 1 and (far is None or far > SAME_WEIGHTS):
            return Judged(list(ranks), _apart(sets, "their own gradients", words))
    reached = _alike(ranks, training, lambda one: one["shut"] or one["given"], lambda one: ALL)
    # Ranks that take the same steps need no exchange, and rounding may part them.
    is_same = bool(reached) and are_alike(ranks, training)
    for sets in reached.values():
        shut = [one for one in sets.values() if one["shut"] and not is_same]
        if shut and len(sets) > 1 and (_far(sets, "weights") or 0.0) > SAME_WEIGHTS:
            return Judged(list(ranks), _unreached(sets, len(shut), words))
    proven: list[Record] = []
    is_own = False
    unfollowed = _alike(
        ranks,
        training,
        lambda one: one["how"] in ("gradients", "values") and one["applied"],
        lambda one: one["applied"]["group"],
    )
    for sets in unfollowed.values():
        steps = {one["applied"]["step"] for one in sets.values()}
        # Sums that one rank has may be applied by it alone, which then has that part of the model.
        is_comparable = len(steps) == 1 and any(
            one["applied"]["what"] != OWN for one in sets.values()
        )
        far = _far(sets, "applied") if is_comparable else None
        if far is None:
            continue
        if far <= FAR_APART:
            proven += sets.values()
        elif all(one["applied"]["what"] == LIKE for one in sets.values()):
            is_own = True  # it may have been weights that were averaged
        elif (_far(sets, "weights") or 0.0) > SAME_WEIGHTS:
            what = f"other gradients in each rank, in step {steps.pop()} for one"
            return Judged(list(ranks), _apart(sets, what, words))
    return Judged([_with(rank, proven) for rank in ranks], None, is_own)


def _alike(
    ranks: Sequence[Rank],
    training: Sequence[int],
    is_meant: Callable[[Record], Any],
    group_of: Callable[[Record], Any],
) -> dict[tuple[str, int, Any], dict[int, Record]]:
    """Sets of the ranks, by form, number among those of this form, and group: rank -> set."""
    found: dict[tuple[str, int, Any], dict[int, Record]] = {}
    for rank in training:
        for form, number, one in placed(filter(is_meant, ranks[rank].trained)):
            group = group_of(one)
            key = (form, number, group if group == ALL else tuple(group))
            found.setdefault(key, {})[rank] = one
    return found


def _far(sets: dict[int, Record], what: str) -> float | None:
    """How far ranks are from the first one at most, in parts of the size; None where nothing can be
    compared."""
    own, *others = [table(one[what]) for one in sets.values() if one[what]] or [{}]
    apart = []
    for theirs in others:
        shared = [index for index in own if index in theirs]
        if shared:
            apart.append(distance([(own[index], theirs[index]) for index in shared]))
    return max(apart, default=None)


def _apart(sets: dict[int, Record], what: str, words: Words) -> Finding:
    (first, *_) = sets.values()
    return Finding(
        "",
        f"{lines.count(len(sets), 'rank')} trained apart: their gradients went to other ranks, and "
        f"what came back was not put into them: {first['name']} applied {what}",
        f"{words.assign}; or {words.wrap}; {OPT_OUT}",
    )


def _unreached(sets: dict[int, Record], shut: int, words: Words) -> Finding:
    (first, *_) = sets.values()
    return Finding(
        "",
        f"{lines.count(len(sets), 'rank')} trained apart: what went to other ranks was not put "
        f"into the variables of {lines.count(shut, 'rank')}: {first['name']} applied each rank's "
        "own gradients",
        f"assign averages to the variables, or to the gradients; or {words.wrap}; {OPT_OUT}",
    )


def _with(rank: Rank, proven: Sequence[Record]) -> Rank:
    def told(one: Record) -> dict[str, Any]:
        is_one = any(one is other for other in proven)
        return {**one, "how": "gradients"} if is_one else dict(one)

    return rank._replace(sets=tuple(told(one) for one in rank.sets))
