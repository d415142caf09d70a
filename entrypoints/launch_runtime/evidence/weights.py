"""Whether ranks that exchanged their gradients end with the same weights. Pure."""

from __future__ import annotations

from typing import Any, Iterable, Mapping, NamedTuple, Sequence

from launch_runtime import lines
from launch_runtime.evidence.finding import OPT_OUT, Finding
from launch_runtime.evidence.prints import FAR_APART, SAME_WEIGHTS, Pair, distance
from launch_runtime.evidence.records import (
    ALL,
    OWN,
    PARTS,
    WAYS,
    Rank,
    Record,
    common,
    may_be,
    placed,
    table,
)
from launch_runtime.words import Words

# Where a script may change weights unseen (PyTorch's ``data``), such as rank 0 taking its moving
# averages before it saves, only a whole model that is another one is refused; less is said.
ANOTHER_MODEL = 0.5
# What ranks average now and then does not move so far apart in between.
TOO_FAR = 0.25
UNKNOWN, VALUES = "exchange of unknown values seen", "values exchanged"


def compared(
    ranks: Sequence[Rank], training: Sequence[int], strategy: Words, is_own: bool = False
) -> Finding:
    """The words for a job whose ranks exchanged; a failure where weights are far apart.

    Args:
        is_own: Each rank was seen to apply its own gradients.
    """
    words = exchanged(one for rank in training for one in ranks[rank].exchanging)
    if any(rank.joined for rank in ranks):
        return Finding(f"{words}, weights not compared ({strategy.uneven} was called)")
    keys = _keys(ranks, training, True)
    found = [_compare(ranks, key, True) for key in keys]
    found += [_compare(ranks, key, False) for key in _keys(ranks, training, False, bool(keys))]
    alone = next((one.alone for one in found if one.alone), "")
    if alone:
        return Finding("", f"ranks trained apart in a part: {alone}", f"{strategy.wrap}; {OPT_OUT}")
    worst = next((one.worst for one in found if one.worst), "")
    if worst:
        return Finding(
            "",
            f"gradients were exchanged, but the weights differ at the end: {worst}; the ranks did "
            "not start from the same weights, or changed them by more than what was exchanged",
            f"{strategy.broadcast}, and apply nothing but averaged gradients; {OPT_OUT}",
        )
    apart = max((one.apart for one in found), default=0.0)
    if apart > TOO_FAR and words == UNKNOWN and all(ranks[one].is_rare for one in training):
        return Finding(
            "",
            f"{lines.count(len(training), 'rank')} trained apart: their weights differ by "
            f"{_percent(apart)} at the end, no gradient and no weight was seen to go through "
            f"{strategy.product}, and at most steps nothing did",
            f"{strategy.wrap}; {OPT_OUT}",
        )
    seldom = max((one.apart for one in found if one.seldom), default=0.0)
    if seldom > TOO_FAR:
        return Finding(
            "",
            f"{lines.count(len(training), 'rank')} trained apart: their weights differ by "
            f"{_percent(seldom)} at the end, and at most steps no gradient went through "
            f"{strategy.product}",
            f"{strategy.wrap}; {OPT_OUT}",
        )
    if any(one.compared for one in found):
        sample = " in a sample" if any(one.sampled for one in found) else ""
        if apart > SAME_WEIGHTS:
            words += " at few steps" if seldom > SAME_WEIGHTS else ""
            words += ", own gradients applied" if is_own and words == VALUES else ""
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
    return UNKNOWN


def _keys(
    ranks: Sequence[Rank], training: Sequence[int], followed: bool, is_beside: bool = False
) -> list[tuple[str, int, Any]]:
    """What can be compared: sets of the same form, of the same place among these, and a group.

    Args:
        is_beside: Others are compared too: those alone of which values of their shapes went.
    """
    keys: dict[tuple[str, int, Any], None] = {}
    for rank in training:
        for form, place, one in _averaged(ranks[rank], followed):
            if is_beside and one["how"] != "values":
                continue
            for group in _over(ranks[rank], one):
                keys[(form, place, ALL if group == ALL else tuple(group))] = None
    return list(keys)


def _averaged(rank: Rank, followed: bool) -> list[tuple[str, int, Record]]:
    """The sets whose gradients went to other ranks; or of which anything else did, or may have
    done: form, number, set."""
    return placed(
        one for one in rank.trained if (one["how"] == "gradients") is followed and _over(rank, one)
    )


def _over(rank: Rank, one: Record) -> list[Any]:
    """The groups over which a set went; or may have gone, where nothing is known of it."""
    if one["how"]:
        return common(one)
    return [group for group, elements in rank.other if may_be(one, (group, elements))]


class _Compared(NamedTuple):
    """Sets that were averaged together.

    Attributes:
        compared: Whether there was anything to compare.
        sampled: Whether the largest variables alone were.
        reason: Why nothing was compared, where that is known.
        apart: How far the first rank's is from another one's at most, in parts of its size.
        worst: What is further apart than averages can be; "" where steps of each rank after the
            last average of parameters may have done it.
        seldom: At most steps nothing went over the groups of what wraps the models.
        alone: What of it each rank trained by itself, by which it is far apart.
    """

    compared: bool
    sampled: bool
    reason: str
    apart: float = 0.0
    worst: str = ""
    alone: str = ""
    seldom: bool = False


def _compare(ranks: Sequence[Rank], key: tuple[str, int, Any], followed: bool) -> _Compared:
    form, place, group = key
    members = range(len(ranks)) if group == ALL else [r for r in group if 0 <= r < len(ranks)]
    sets: dict[int, Record] = {}
    for rank in members:
        for its_form, its_place, one in _averaged(ranks[rank], followed):
            if (its_form, its_place) == (form, place) and one.get("weights"):
                sets[rank] = one
    held: list[tuple[int, Record]] = [(rank, one["weights"]) for rank, one in sets.items()]
    reason = next((weights["why"] for _, weights in held if weights["why"]), "")
    if sets and all((one["applied"] or {}).get("what") == OWN for one in sets.values()):
        reason = PARTS  # layers of one form, each summed in the rank that has it
    if len(held) < 2 or reason:
        return _Compared(False, False, reason)
    changed = {index for _, weights in held for index in weights["changed"]}
    if not followed:  # that is how a script puts averages in
        changed = set()
    # Some of the ranks trained on by themselves; where all have, it is told by what came of it.
    by = [set(weights["on"]) for _, weights in held]
    changed |= set.union(*by) - set.intersection(*by)
    blind = any(weights["blind"] for _, weights in held)
    # Where something else goes at most steps, it may be what joins the parts of one model.
    is_alone = followed and all(ranks[one].is_rare or not ranks[one].other for one, _ in held)
    sampled = any(len(weights["kept"]) < weights["of"] for _, weights in held)
    is_seldom = all(sets[one]["seldom"] and not ranks[one].other for one in sets)
    found = _Compared(False, sampled, "", seldom=is_seldom)
    (first, known), *others = held
    own = table(known)
    for rank, weights in others:
        theirs = table(weights)
        shared = own.keys() & theirs.keys() - changed
        lone = shared.intersection(known["lone"], weights["lone"])
        sure = shared.intersection(known["sure"], weights["sure"])
        # Where nothing was seen to be exchanged in both, all that may have been is compared.
        if followed or sure:
            shared = sure
        pairs = {index: (own[index], theirs[index]) for index in sorted(shared)}
        far = distance(list(pairs.values()))
        far_alone = distance([(own[index], theirs[index]) for index in sorted(lone)])
        far = max(far, far_alone)
        found = found._replace(compared=found.compared or bool(pairs), apart=max(found.apart, far))
        if is_alone and far_alone > SAME_WEIGHTS:
            return found._replace(alone=_alone(sets[first], far_alone, first, rank))
        worst = _worst(pairs, known["shapes"], blind) if followed else ""
        if worst:
            where = f"between ranks {first} and {rank}"
            return found._replace(worst=f"{worst} of its size {where}")
    if not found.compared:
        found = found._replace(reason="reassigned after the last step" if changed else "")
    return found


def _alone(one: Record, far: float, first: int, rank: int) -> str:
    return (
        f"{one['lone'][0]} of the {one['variables']} variables of {one['name']} were not "
        f"exchanged, and differ by {_percent(far)} of their size between ranks {first} and {rank}"
    )


def _worst(pairs: Mapping[int, Pair], shapes: Sequence[str], blind: bool) -> str:
    """What is further apart than averages of gradients can be, and by how much; or ""."""
    if blind:
        far = distance(list(pairs.values()))
        return f"the model by {_percent(far)}" if far > ANOTHER_MODEL else ""
    far, index = max(((distance([pair]), index) for index, pair in pairs.items()), default=(0.0, 0))
    return (
        f"a variable of shape {shapes[index] or '()'} by {_percent(far)}" if far > FAR_APART else ""
    )


def _percent(part: float) -> str:
    return f"{min(part, 9.99):.{0 if part >= 0.01 else 1}%}"
