"""Whether the ranks of a job trained together, by the records of all of them. Pure."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from launch_runtime import lines
from launch_runtime.evidence.applied import judged
from launch_runtime.evidence.finding import OPT_OUT, Finding
from launch_runtime.evidence.prints import OWN_STEPS, distance
from launch_runtime.evidence.records import (
    ALL,
    EXCHANGE,
    FEW,
    INIT,
    STRICT,
    Rank,
    Record,
    alone,
    counts,
    groups,
    may_be,
    merged,
    table,
)
from launch_runtime.evidence.samples import alike
from launch_runtime.evidence.weights import compared
from launch_runtime.words import HOROVOD, Words


def judge(
    evidence: Mapping[int, Sequence[Record]],
    world_size: int,
    mode: str = EXCHANGE,
    words: Words = HOROVOD,
) -> Finding:
    """Whether the ranks of a job that ended well trained together.

    Args:
        evidence: Rank -> the last record of each of its processes. What isn't a record is taken
            for missing.
        world_size: Ranks of the job.
        mode: ``exchange``; ``init`` asks for nothing; ``strict`` fails where evidence is missing.
        words: The strategy's, for causes and fixes.
    """
    if mode == INIT or world_size < 2:
        return Finding("")
    ranks = [merged(evidence.get(rank) or ()) for rank in range(world_size)]
    missing = tuple(rank for rank in range(world_size) if not ranks[rank].final)
    found = _judged(ranks, world_size, words)
    if found.failure:
        return found._replace(missing=missing)
    if not missing:
        return found
    if mode == STRICT:
        return Finding(
            "evidence missing",
            f"no evidence of the training from {lines.ranks(missing)}, and --proof strict asks "
            "for it",
            "end the script normally in every rank, or use --proof exchange (or --proof init)",
            missing,
        )
    if not any(rank.final for rank in ranks):
        return Finding("evidence missing", missing=missing)
    return found._replace(
        words=f"{found.words}, evidence missing from {lines.ranks(missing)}", missing=missing
    )


def _judged(ranks: Sequence[Rank], size: int, words: Words) -> Finding:
    training = [rank for rank in range(size) if ranks[rank].trained]
    if not training:
        return Finding("no training seen")
    exchanging = [rank for rank in training if ranks[rank].exchanging]
    if len(training) == 1:
        (only,) = training
        return _by_one(ranks, only, bool(exchanging), words)
    if not exchanging:
        return _apart(ranks, training, words)
    parts = _parts(ranks, training, size)
    if len(parts) > 1:
        names = "; ".join(lines.ranks(part) for part in parts[:4])
        return Finding(
            "",
            f"{len(parts)} groups of ranks trained apart ({names}): no exchange connects them",
            f"{words.fix_parts}; {OPT_OUT}",
        )
    applied = judged(ranks, training, words)
    fault = (
        applied.failure or _forgotten(ranks, training, words) or _crowded(ranks, training, words)
    )
    if fault:
        return fault
    found = compared(applied.ranks, training, words, applied.is_own)
    if found.failure:
        return found
    return found.adding(idle(ranks), alike(applied.ranks, training))


def _by_one(ranks: Sequence[Rank], rank: int, exchanging: bool, words: Words) -> Finding:
    """One rank trained, the others served it, or did nothing."""
    if exchanging or ranks[rank].called_after:
        return Finding(f"rank {rank} trained, and exchanged with the others").adding(idle(ranks))
    return Finding(
        "",
        f"rank {rank} trained alone: {lines.count(len(ranks) - 1, 'other rank')} neither trained "
        "nor exchanged anything with it",
        f"let every rank train and {words.wrap}; {OPT_OUT}",
    )


def _apart(ranks: Sequence[Rank], training: Sequence[int], words: Words) -> Finding:
    phases = {phase for rank in training for one in ranks[rank].trained for phase in one["phases"]}
    fix = words.wrap
    if phases == {"before"}:
        why = f"they trained before {words.join} had returned, or in a process that never called it"
        fix = f"call {words.join} before the training, in the process that trains, and {words.wrap}"
    elif "during" not in phases:
        why = words.not_during
        fix = f"train between {words.join} and {words.leave}, and {words.wrap}"
    elif any(alone(one) for rank in training for one in ranks[rank].trained):
        why = f"their gradients went through {words.groups} of one rank"
        fix = words.fix_alone
    elif any(one["unused"] for rank in training for one in ranks[rank].trained):
        why = "their weights went to other ranks, and no variable was given what came back"
        fix = f"assign the averages to the variables, or {words.wrap}"
    elif words.around and any(one["past"] for rank in training for one in ranks[rank].trained):
        why, fix = words.around, words.fix_around
    else:
        why = f"no gradient and no weight went through {words.product}"
    who = lines.count(len(training), "rank")
    if len(training) < len(ranks):
        who += f" of {len(ranks)}"
    return Finding("", f"{who} trained apart: {why}", f"{fix}; {OPT_OUT}")


def _forgotten(ranks: Sequence[Rank], training: Sequence[int], words: Words) -> Finding | None:
    """An optimizer that two ranks or more trained without exchange, beside one that exchanged."""
    apart: dict[tuple[str, str], dict[int, list[Record]]] = {}
    for rank in training:
        for one in ranks[rank].trained:
            if "during" in one["phases"] and not counts(one, ranks[rank].other):
                found = apart.setdefault((one["name"], one["form"]), {})
                found.setdefault(rank, []).append(one)
    for (name, _), sets in sorted(apart.items()):
        if len(sets) > 1 and _moved(list(sets.values())):
            return Finding(
                "",
                f"{lines.count(len(sets), 'rank')} trained apart with one of their "
                f"optimizers: the gradients of {name} were not exchanged, those of another one "
                "were",
                f"{words.wrap}, each of them; {OPT_OUT}",
            )
    return None


def _moved(sets: Sequence[Sequence[Record]]) -> bool:
    """Whether what optimizers did on each rank is still there: of one that trained what another
    had, the script may have taken it back, or its exchange may not have been seen; nor is that of
    a set of few elements, which looks like a metric's.

    Args:
        sets: Those of each rank, of one kind.
    """
    if not all(one["later"] or _is_read(one) for each in sets for one in each):
        return True
    own, *others = [[table(one["weights"]) for one in each if one["weights"]] for each in sets]
    for theirs in others:
        for known, other in zip(own, theirs):
            shared = known.keys() & other.keys()
            if distance([(known[index], other[index]) for index in shared]) > OWN_STEPS:
                return True
    return False


def _is_read(one: Record) -> bool:
    """Whether it is small, and its weights are there to be compared."""
    return one["elements"] < FEW and bool(one["weights"]) and not one["weights"]["why"]


def _crowded(ranks: Sequence[Rank], training: Sequence[int], words: Words) -> Finding | None:
    """Ranks that trained on one GPU between them, and on no other."""
    sharing: dict[str, list[int]] = {}
    for rank in training:
        if len(ranks[rank].devices) == 1:
            sharing.setdefault(next(iter(ranks[rank].devices)), []).append(rank)
    for device, where in sorted(sharing.items()):
        if len(where) > 1:
            return Finding(
                "",
                f"{lines.ranks(where)} trained on one GPU, {device}, although each rank "
                "has its own",
                f"{words.pick}, or use --pin-gpu guard; {OPT_OUT}",
            )
    return None


def idle(ranks: Sequence[Rank]) -> str:
    """Whose GPUs were paid for and not used, for the proof."""
    found = [number for number, rank in enumerate(ranks) if rank.is_idle]
    if not found:
        return ""
    if len(found) == len(ranks):
        return "all GPUs idle"
    return f"the GPU{'s' if len(found) > 1 else ''} of {lines.ranks(found)} idle"


def _parts(ranks: Sequence[Rank], training: Sequence[int], size: int) -> list[list[int]]:
    """The ranks that trained, in the parts that exchanges connect."""
    parent = list(range(size))

    def root(rank: int) -> int:
        while parent[rank] != rank:
            rank = parent[rank]
        return rank

    for rank in training:
        for group in _groups_of(ranks[rank]):
            members = range(size) if group == ALL else group
            for member in members:
                if 0 <= member < size:
                    parent[root(member)] = root(rank)
    parts: dict[int, list[int]] = {}
    for rank in training:
        parts.setdefault(root(rank), []).append(rank)
    return sorted(parts.values())


def _groups_of(rank: Rank) -> list[Any]:
    found = [group for one in rank.trained for group in groups(one)]
    return found + [
        entry[0] for entry in rank.other if any(may_be(one, entry) for one in rank.trained)
    ]
