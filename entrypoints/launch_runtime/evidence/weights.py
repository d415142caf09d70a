"""Whether ranks that exchanged their gradients end with the same weights. Pure."""

from __future__ import annotations

from typing import Any, Iterable, NamedTuple, Sequence

from launch_runtime.evidence.finding import OPT_OUT, Finding
from launch_runtime.evidence.prints import distance
from launch_runtime.evidence.records import ALL, WAYS, Rank, Record, groups, table
from launch_runtime.words import Words

# Ranks that average gradients differ by rounding alone, some parts in a million. Start weights
# that were drawn apart differ by about their own size.
FAR_APART = 0.05
# Where a script may change weights unseen (PyTorch's ``data``), such as rank 0 taking its moving
# averages before it saves, only a whole model that is another one is refused; less is said.
ANOTHER_MODEL = 0.5


def compared(ranks: Sequence[Rank], training: Sequence[int], strategy: Words) -> Finding:
    """The words for a job whose ranks exchanged; a failure where weights are far apart."""
    words = exchanged(one for rank in training for one in ranks[rank].exchanging)
    if any(rank.joined for rank in ranks):
        return Finding(f"{words}, weights not compared ({strategy.uneven} was called)")
    how = "gradients" if _keys(ranks, training, "gradients") else "weights"
    found = [_compare(ranks, key, how) for key in _keys(ranks, training, how)]
    differing = [one for one in found if one.differing]
    if differing and how == "weights":  # as steps of each rank after the last average make them
        return Finding(f"{words}, weights differ at the end")
    if differing:
        one = differing[0]
        return Finding(
            "",
            f"gradients were exchanged, but the weights differ at the end: {one.worst}; the "
            "ranks did not start from the same weights",
            f"{strategy.broadcast}; {OPT_OUT}",
        )
    if any(one.compared for one in found):
        sample = " in a sample" if any(one.sampled for one in found) else ""
        apart = max(one.apart for one in found)
        if apart > FAR_APART:
            return Finding(f"{words}, weights differ by {_percent(apart)} at the end{sample}")
        return Finding(f"{words}, weights equal{sample}")
    reasons = [one.reason for one in found if one.reason]
    return Finding(f"{words}, weights not compared" + (f" ({reasons[0]})" if reasons else ""))


def exchanged(sets: Iterable[Record]) -> str:
    """What went from rank to rank, for the proof: ``gradients exchanged (fp16)``."""
    sets = list(sets)
    how = {one["how"] for one in sets}
    ways = [words for way, words in WAYS.items() if any(way in one["ways"] for one in sets)]
    behind = f" ({', '.join(ways)})" if ways else ""
    for kind, words in (("gradients", "gradients"), ("weights", "parameters"), ("values",) * 2):
        if kind in how:
            return f"{words} exchanged{behind}"
    return "exchange of unknown values seen"


def _keys(ranks: Sequence[Rank], training: Sequence[int], how: str) -> list[tuple[str, int, Any]]:
    """What can be compared: sets of the same form, of the same place among these, and a group."""
    keys: dict[tuple[str, int, Any], None] = {}
    for rank in training:
        for form, place, one in _placed(ranks[rank], how):
            for group in groups(one):
                keys[(form, place, ALL if group == ALL else tuple(group))] = None
    return list(keys)


def _placed(rank: Rank, how: str) -> list[tuple[str, int, Record]]:
    """The sets whose gradients (or weights) were averaged: form, number among those of this form,
    set."""
    forms: list[str] = []
    placed = []
    for one in rank.trained:
        if one["how"] == how and groups(one):
            placed.append((one["form"], forms.count(one["form"]), one))
            forms.append(one["form"])
    return placed


class _Compared(NamedTuple):
    compared: bool
    differing: bool
    worst: str
    sampled: bool
    reason: str
    apart: float = 0.0  # how far the whole models of two ranks are, where that is no failure


def _compare(ranks: Sequence[Rank], key: tuple[str, int, Any], how: str) -> _Compared:
    form, place, group = key
    members = range(len(ranks)) if group == ALL else [r for r in group if 0 <= r < len(ranks)]
    held: list[tuple[int, Record]] = []
    for rank in members:
        for its_form, its_place, one in _placed(ranks[rank], how):
            if (its_form, its_place) == (form, place) and one.get("weights"):
                held.append((rank, one["weights"]))
    reason = next((weights["why"] for _, weights in held if weights["why"]), "")
    if len(held) < 2 or reason:
        return _Compared(False, False, "", False, reason)
    changed = {index for _, weights in held for index in weights["changed"]}
    if how == "weights":  # that is how a script puts averages in
        changed = set()
    blind = any(weights["blind"] for _, weights in held)
    sampled = any(len(weights["kept"]) < len(weights["shapes"]) for _, weights in held)
    found = _Compared(False, False, "", sampled, "")
    (first, known), *others = held
    own = table(known)
    for rank, weights in others:
        theirs = table(weights)
        shared = [index for index in own if index in theirs and index not in changed]
        pairs = [(own[index], theirs[index]) for index in shared]
        found = found._replace(compared=found.compared or bool(pairs))
        where = f"between ranks {first} and {rank}"
        far = distance(pairs) if blind else 0.0
        if far > (ANOTHER_MODEL if how == "gradients" else FAR_APART):
            return found._replace(
                differing=True, worst=f"the model by {_percent(far)} of its size {where}"
            )
        found = found._replace(apart=max(found.apart, far))
        each = [] if blind else [(distance([pair]), index) for pair, index in zip(pairs, shared)]
        apart = [(far, index) for far, index in each if far > FAR_APART]
        if apart:
            far, index = max(apart)
            shape = known["shapes"][index] or "()"
            worst = f"a variable of shape {shape} by {_percent(far)} of its size {where}"
            return found._replace(differing=True, worst=worst)
    if not found.compared:
        found = found._replace(reason="reassigned after the last step" if changed else "")
    return found


def _percent(part: float) -> str:
    return f"{min(part, 9.99):.0%}"
