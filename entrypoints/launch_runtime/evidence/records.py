"""A record of what one process trained and exchanged, and how a job's records are read.

A record is a JSON object::

    {"pid": 71, "final": true, "joined": false, "called_after": 3, "rare": false,
     "devices": ["GPU-7f2c"], "idle_gpu": "", "other": [[["all"], 4096]],
     "samples": {"losses": [[1, 2.31], [2, 2.07], [3, 1.94]]},
     "sets": [{"name": "Adam", "form": "84a0c1d2", "variables": 8, "elements": 52650, "local": 0,
               "exchanged": 8, "how": "gradients", "groups": ["all"], "phases": ["during"],
               "weights": {"shapes": ["784x64", "64"], "prints": "base64", "of": 2,
                           "kept": [0, 1], "changed": [], "blind": false, "why": ""}}]}

``sets`` has one entry for each optimizer (or hand-written update). ``groups`` are the groups of
ranks over which its gradients or values went: ``"all"``, or a sorted list of ranks. ``past``: its
model is wrapped to exchange them, and the script calls the model inside. ``unused``: values of its
variables went to other ranks, and the script never gave them another value. ``wasted``: gradients,
of half of its elements at least, went to other ranks, and were applied as they had been. ``shut``:
something went before steps of its own, and nothing that came can be in its variables: they were
given their own gradients alone; ``given``: the script gave some of them values in between. ``how``
is what went: ``gradients``; ``weights``, the values of its variables; ``values``, something of
their shapes. ``ways`` are words of ``WAYS``. ``form`` is a digest of the shapes of its variables,
in order. ``prints`` are four 32-bit floats a variable: its norm and three projections of its values
on fixed directions. ``seldom``: at most of its steps nothing went over the groups of what wraps its
models, and nothing but gradients went otherwise. ``other`` are exchanges of at least ``MANY``
elements that belong to no variable: group and elements; they are ``rare`` where there was none at
most steps. ``called_after`` counts the collectives that Python called after the first training
step. ``devices`` are the GPUs that held what was trained, by names that the ranks of a machine
share; ``idle_gpu`` is why it trains on none, though it has one. ``parts``: other ranks hold the
rest of some variables. ``applied`` is there
where the script itself sent gradients out, and may not have put into them what came back: prints of
those that an optimizer applied in the step that was looked at last; ``what`` is "own" where they
were summed in this rank alone, and "like" where all that is known to have gone is like them::

    {"step": 16, "group": "all", "kept": [0, 1], "prints": "base64", "what": ""}

``samples`` are numbers that other samples would not have: the ``losses`` that gradients were taken
of, and a checksum of the ``batches`` that training functions were called with; each of a few steps,
by its number from 1 on. ``common`` are those of the groups that all of its exchanged variables went
over. ``sure`` are the variables, by number, that were seen to be exchanged, where ``kept`` has
others that may have been; ``lone`` those that were changed by gradients of which nothing went out,
in the set their number and their elements. Of a set that is ``later`` another optimizer had trained
variables together before; ``on`` are those that a later one trained on, with nothing exchanged.
"""

from __future__ import annotations

import base64
import math
import struct
from typing import Any, Iterable, Mapping, MutableMapping, NamedTuple, Sequence

ALL = "all"
EXCHANGE, INIT, STRICT = "exchange", "init", "strict"
MODES = (EXCHANGE, INIT, STRICT)  # what a job's proof may rest on

PRINT_FLOATS = 4
# In which gradients went, beside their average: summed over several backward passes first.
ADASUM, FP16, BF16, ACCUMULATED = "adasum", "fp16", "bf16", "accumulated"
# The proof's words.
WAYS = {ADASUM: "Adasum", FP16: "fp16", BF16: "bf16", ACCUMULATED: "accumulated"}

# What of gradients went out, where that is not simply they: see ``applied``.
OWN, LIKE = "own", "like"
PARTS = "each rank has a part of them"  # why weights aren't compared
# Elements of a set whose exchange nobody can tell from that of a metric.
FEW = 8

# What of a training is compared to tell whether ranks read the same samples.
BATCHES, LOSSES = "batches", "losses"

Record = MutableMapping[str, Any]
Samples = Mapping[str, Mapping[int, float]]  # kind -> number of a step -> what was read


class Rank(NamedTuple):
    """One rank's records as one."""

    final: bool
    sets: tuple[Record, ...]
    other: tuple[tuple[Any, int], ...]
    joined: bool
    called_after: int
    devices: frozenset[str] = frozenset()
    is_idle: bool = False  # whatever trained there left its GPU alone
    samples: tuple[Samples, ...] = ()  # of each process that has some
    is_rare: bool = False  # at most of its steps nothing of nobody went to other ranks

    @property
    def trained(self) -> tuple[Record, ...]:
        """The sets with variables of the whole job, not of this rank alone."""
        return tuple(one for one in self.sets if one["variables"] > one["local"])

    @property
    def exchanging(self) -> tuple[Record, ...]:
        return tuple(one for one in self.trained if counts(one, self.other))


def merged(records: Iterable[Record]) -> Rank:
    """One rank's records as one; what is no record is left out."""
    final, joined, called = False, False, 0
    sets: list[Record] = []
    other: list[tuple[Any, int]] = []
    devices: set[str] = set()
    idle: list[bool] = []
    rare: list[bool] = []
    samples: list[Samples] = []
    for record in records:
        try:
            own_sets = [_checked(one) for one in record["sets"]]
            own_other = [(_group(group), int(count)) for group, count in record["other"]]
            own_devices = {str(name)[:80] for name in record.get("devices", ())}
            own_samples = _samples(record.get("samples") or {})
            final = final or bool(record["final"])
            joined, called = joined or bool(record["joined"]), called + int(record["called_after"])
        except (AttributeError, KeyError, TypeError, ValueError):
            continue
        sets += own_sets
        other += own_other
        devices |= own_devices
        idle += [bool(record.get("idle_gpu"))] if own_sets else []
        rare += [bool(record.get("rare"))] if own_sets else []
        samples += [own_samples] if own_samples else []
    is_idle, is_rare = (bool(found) and all(found) for found in (idle, rare))
    return Rank(
        final, tuple(sets), tuple(other), joined, called, frozenset(devices), is_idle,
        tuple(samples), is_rare,
    )  # fmt: skip


def counts(one: Record, other: Sequence[tuple[Any, int]]) -> bool:
    """Whether a set's training was exchanged, or may have been where nobody can tell."""
    return bool(groups(one)) or any(may_be(one, entry) for entry in other)


def groups(one: Record) -> list[Any]:
    """The groups of at least two ranks over which it went."""
    return [group for group in one["groups"] if group == ALL or len(group) > 1]


def common(one: Record) -> list[Any]:
    """Those of them that all of its exchanged variables went over: between the ranks of another one
    there may be parts of one model."""
    return [group for group in groups(one) if group in one["common"]]


def alone(one: Record) -> bool:
    """Whether it went through groups of one rank alone."""
    return bool(one["groups"]) and not groups(one)


def may_be(one: Record, entry: tuple[Any, int]) -> bool:
    """Whether an exchange that belongs to no variable is large enough to hold what was trained,
    packed or thinned out (a flat buffer, pickled bytes, the largest gradients alone)."""
    group, elements = entry
    return (group == ALL or len(group) > 1) and elements * 100 >= one["elements"]


def placed(sets: Iterable[Record]) -> list[tuple[str, int, Record]]:
    """Each with its form, and its number among those of this form: the same on every rank that
    trains the same models in the same order."""
    seen: dict[str, int] = {}
    found = []
    for one in sets:
        number = seen[one["form"]] = seen.get(one["form"], -1) + 1
        found.append((one["form"], number, one))
    return found


def table(weights: Record) -> dict[int, tuple[float, ...]]:
    """Index of a variable, or of an applied gradient -> its floats; those that could not be read
    are left out."""
    data = base64.b64decode(weights["prints"])
    one = struct.Struct(f"<{PRINT_FLOATS}f")
    whole = len(data) // one.size * one.size
    return {
        index: floats
        for index, floats in zip(weights["kept"], one.iter_unpack(data[:whole]))
        if all(map(math.isfinite, floats))
    }


def _checked(one: Record) -> Record:
    """A set with all that is used of it, in the types that are used.

    Raises:
        KeyError, TypeError, ValueError: It is none.
    """
    checked: Record = {
        "name": str(one["name"])[:80],
        "form": str(one["form"])[:80],
        "how": str(one["how"]),
        "groups": [_group(group) for group in one["groups"]],
        "common": [_group(group) for group in one.get("common", one["groups"])],
        "phases": [str(phase) for phase in one["phases"]],
        "weights": None,
    }
    for name in ("past", "parts", "unused", "wasted", "later", "seldom", "shut", "given"):
        checked[name] = bool(one.get(name))
    checked["ways"] = [way for way in WAYS if way in one.get("ways", ())]
    for name in ("variables", "elements", "local", "exchanged"):
        checked[name] = int(one[name])
    checked["lone"] = [int(count) for count in one.get("lone", (0, 0))]
    weights = one.get("weights")
    if weights:
        checked["weights"] = {
            "shapes": [str(shape)[:80] for shape in weights["shapes"]],
            "prints": str(weights["prints"]),
            "of": int(weights.get("of", len(weights["shapes"]))),
            "kept": [int(index) for index in weights["kept"]],
            "sure": [int(index) for index in weights.get("sure", weights["kept"])],
            "lone": [int(index) for index in weights.get("lone", ())],
            "on": [int(index) for index in weights.get("on", ())],
            "changed": [int(index) for index in weights["changed"]],
            "blind": bool(weights.get("blind")),
            "why": str(weights["why"])[:200],
        }
        if not all(0 <= index < len(weights["shapes"]) for index in checked["weights"]["kept"]):
            raise ValueError("a weight without a shape")
        table(checked["weights"])
    applied = one.get("applied")
    checked["applied"] = None
    if applied:
        checked["applied"] = {
            "step": int(applied["step"]),
            "group": _group(applied["group"]),
            "kept": [int(index) for index in applied["kept"]],
            "prints": str(applied["prints"]),
            "what": str(applied.get("what", "")),
        }
        table(checked["applied"])
    return checked


def _samples(found: Mapping[str, Any]) -> Samples:
    return {
        kind: {int(number): float(value) for number, value in found[kind]}
        for kind in (BATCHES, LOSSES)
        if found.get(kind)
    }


def _group(group: Any) -> Any:
    return ALL if group == ALL else sorted({int(rank) for rank in group})
