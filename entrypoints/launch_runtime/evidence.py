"""What the ranks saw of their training, joined: did they train together?

Every process of a rank makes one *record* of what it trained and what it exchanged
(``rank/exchange``). This module judges the records of all ranks. Agents use it in the replica, the
launcher loads this same file for jobs whose lines reach it one by one: one judge on both sides. It
is pure, and imports nothing but the standard library.

A record is a JSON object::

    {"pid": 71, "final": true, "joined": false, "called_after": 3,
     "other": [[["all"], 4096]],
     "sets": [{"name": "Adam", "form": "84a0c1d2", "variables": 8, "elements": 52650, "local": 0,
               "exchanged": 8, "how": "gradients", "groups": ["all"], "phases": ["during"],
               "weights": {"shapes": ["784x64", "64"], "prints": "base64", "kept": [0, 1],
                           "changed": [], "blind": false, "why": ""}}]}

``sets`` has one entry for each optimizer (or hand-written update). ``groups`` are the groups of
ranks over which its gradients or values went: ``"all"``, or a sorted list of ranks. ``form`` is a
digest of the shapes of its variables, in order. ``prints`` are four 32-bit floats a variable: its
norm and three projections of its values on fixed directions. ``other`` are exchanges of at least
``MANY`` elements that belong to no variable: group and elements. ``called_after`` counts the
collectives that Python called after the first training step.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any, Iterable, Mapping, MutableMapping, NamedTuple, Sequence

ALL = "all"
EXCHANGE, INIT, STRICT = "exchange", "init", "strict"
MODES = (EXCHANGE, INIT, STRICT)

LINE = "launch: evidence: "
LINE_BYTES = 3500  # below the 4096 bytes that a pipe takes in one go, with room for mpirun's tag
LARGEST = 4 << 20  # bytes of one rank's records, uncompressed; more is no evidence of ours
_PIECES = 2000  # of one rank's records at most

PRINT_FLOATS = 4
# Ranks that average gradients differ by rounding alone, some parts in a million. Start weights
# that were drawn apart differ by about their own size.
FAR_APART = 0.05
# Where a script may change weights unseen (PyTorch's ``data``), such as rank 0 taking its moving
# averages before it saves, only a whole model that is another one counts.
ANOTHER_MODEL = 0.5

Record = MutableMapping[str, Any]

WRAP = (
    "wrap the optimizer with hvd.DistributedOptimizer, or the tape with hvd.DistributedGradientTape"
)
BROADCAST = (
    "broadcast the start weights from rank 0: hvd.broadcast_variables(model.variables, "
    "root_rank=0), BroadcastGlobalVariablesCallback(0) for fit(), or "
    "hvd.broadcast_parameters(model.state_dict(), root_rank=0) for PyTorch"
)
OPT_OUT = "where the ranks are meant to train apart, --proof init"


class Finding(NamedTuple):
    """What the evidence of a job says.

    Attributes:
        words: For the proof line, such as ``gradients exchanged, weights equal``.
        failure: Why the job is no success, or "".
        fix: What to change where there is a failure.
        missing: Ranks that left no final record.
    """

    words: str
    failure: str = ""
    fix: str = ""
    missing: tuple[int, ...] = ()


def judge(
    evidence: Mapping[int, Sequence[Record]], world_size: int, mode: str = EXCHANGE
) -> Finding:
    """Whether the ranks of a job that ended well trained together.

    Args:
        evidence: Rank -> the last record of each of its processes. What isn't a record is taken
            for missing.
        world_size: Ranks of the job.
        mode: ``exchange``; ``init`` asks for nothing; ``strict`` fails where evidence is missing.
    """
    if mode == INIT or world_size < 2:
        return Finding("")
    ranks = _read(evidence, world_size)
    missing = tuple(rank for rank in range(world_size) if not ranks[rank].final)
    found = _judged(ranks, world_size)
    if found.failure:
        return found._replace(missing=missing)
    if not missing:
        return found
    if mode == STRICT:
        return Finding(
            "evidence missing",
            f"no evidence of the training from {_named(missing)}, and --proof strict asks for it",
            "end the script normally in every rank, or use --proof exchange (or --proof init)",
            missing,
        )
    if len(missing) == world_size:
        return Finding("evidence missing", missing=missing)
    return found._replace(
        words=f"{found.words}, evidence missing from {_named(missing)}", missing=missing
    )


class _Rank(NamedTuple):
    """One rank's records as one."""

    final: bool
    sets: tuple[Record, ...]
    other: tuple[tuple[Any, int], ...]
    joined: bool
    called_after: int

    @property
    def trained(self) -> tuple[Record, ...]:
        """The sets with variables of the whole job, not of this rank alone."""
        return tuple(one for one in self.sets if one["variables"] > one["local"])

    @property
    def exchanging(self) -> tuple[Record, ...]:
        return tuple(one for one in self.trained if _counts(one, self.other))


def _judged(ranks: Sequence[_Rank], size: int) -> Finding:
    training = [rank for rank in range(size) if ranks[rank].trained]
    if not training:
        return Finding("no training seen")
    exchanging = [rank for rank in training if ranks[rank].exchanging]
    if len(training) == 1:
        return _by_one(ranks, training[0], bool(exchanging), size)
    if not exchanging:
        return _apart(ranks, training, size)
    parts = _parts(ranks, training, size)
    if len(parts) > 1:
        names = "; ".join(_named(part) for part in parts[:4])
        return Finding(
            "",
            f"{len(parts)} groups of ranks trained apart ({names}): no exchange connects them",
            f"let the process sets overlap, or use the global one; {OPT_OUT}",
        )
    forgotten = _forgotten(ranks, training)
    if forgotten:
        return forgotten
    return _weights(ranks, training, size)


def _by_one(ranks: Sequence[_Rank], rank: int, exchanging: bool, size: int) -> Finding:
    """One rank trained, the others served it, or did nothing."""
    if exchanging or ranks[rank].called_after:
        return Finding(f"rank {rank} trained, and exchanged with the others")
    return Finding(
        "",
        f"rank {rank} trained alone: {_count(size - 1, 'other rank')} neither trained nor "
        "exchanged anything with it",
        f"let every rank train and {WRAP}; {OPT_OUT}",
    )


def _apart(ranks: Sequence[_Rank], training: Sequence[int], size: int) -> Finding:
    phases = {phase for rank in training for one in ranks[rank].trained for phase in one["phases"]}
    fix = WRAP
    if phases == {"before"}:
        why = "they trained before hvd.init() had returned, or in a process that never called it"
        fix = f"call hvd.init() before the training, in the process that trains, and {WRAP}"
    elif "during" not in phases:
        why = "they trained while Horovod was not running (before hvd.init() or after shutdown)"
        fix = f"train between hvd.init() and hvd.shutdown(), and {WRAP}"
    elif any(_alone(one) for rank in training for one in ranks[rank].trained):
        why = "their gradients went through process sets of one rank"
        fix = "use a process set that holds several ranks, or the global one"
    else:
        why = "no gradient and no weight went through Horovod"
    who = _count(len(training), "rank")
    if len(training) < size:
        who += f" of {size}"
    return Finding("", f"{who} trained apart: {why}", f"{fix}; {OPT_OUT}")


def _forgotten(ranks: Sequence[_Rank], training: Sequence[int]) -> Finding | None:
    """An optimizer that two ranks or more trained without exchange, beside one that exchanged."""
    apart: dict[tuple[str, str], list[int]] = {}
    for rank in training:
        for one in ranks[rank].trained:
            if "during" in one["phases"] and not _counts(one, ranks[rank].other):
                apart.setdefault((one["name"], one["form"]), []).append(rank)
    for (name, _), where in sorted(apart.items()):
        if len(set(where)) > 1:
            return Finding(
                "",
                f"{_count(len(set(where)), 'rank')} trained apart with one of their optimizers: "
                f"the gradients of {name} were not exchanged, those of another one were",
                f"{WRAP}, each of them; {OPT_OUT}",
            )
    return None


# -- what counts as an exchange ------------------------------------------------------------------


def _counts(one: Record, other: Sequence[tuple[Any, int]]) -> bool:
    """Whether a set's training was exchanged, or may have been where nobody can tell."""
    return bool(_groups(one)) or any(_may_be(one, entry) for entry in other)


def _groups(one: Record) -> list[Any]:
    """The groups of at least two ranks over which it went."""
    return [group for group in one["groups"] if group == ALL or len(group) > 1]


def _alone(one: Record) -> bool:
    return bool(one["groups"]) and not _groups(one)


def _may_be(one: Record, entry: tuple[Any, int]) -> bool:
    """Whether an exchange that belongs to no variable is large enough to hold what was trained,
    packed or thinned out (a flat buffer, pickled bytes, the largest gradients alone)."""
    group, elements = entry
    return (group == ALL or len(group) > 1) and elements * 100 >= one["elements"]


def _parts(ranks: Sequence[_Rank], training: Sequence[int], size: int) -> list[list[int]]:
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


def _groups_of(rank: _Rank) -> list[Any]:
    found = [group for one in rank.trained for group in _groups(one)]
    return found + [
        entry[0] for entry in rank.other if any(_may_be(one, entry) for one in rank.trained)
    ]


# -- weights -------------------------------------------------------------------------------------


class _Compared(NamedTuple):
    compared: int
    differing: int
    worst: str
    sampled: bool
    reason: str


def _weights(ranks: Sequence[_Rank], training: Sequence[int], size: int) -> Finding:
    """The words for a job whose ranks exchanged; a failure where weights are far apart."""
    how = {one["how"] for rank in training for one in ranks[rank].exchanging}
    words = "exchange seen, whose values cannot be told"
    if "gradients" in how:
        words = "gradients exchanged"
    elif "values" in how:
        words = "values exchanged"
    if any(rank.joined for rank in ranks):
        return Finding(f"{words}, weights not compared (hvd.join() was called)")
    found = [_compare(ranks, key) for key in _keys(ranks, training)]
    differing = [one for one in found if one.differing]
    if differing:
        one = differing[0]
        return Finding(
            "",
            f"gradients were exchanged, but the weights differ at the end: {one.worst}; the "
            "ranks did not start from the same weights",
            f"{BROADCAST}; {OPT_OUT}",
        )
    if any(one.compared for one in found):
        sampled = any(one.sampled for one in found)
        return Finding(f"{words}, weights equal" + (" in a sample" if sampled else ""))
    reasons = [one.reason for one in found if one.reason]
    return Finding(f"{words}, weights not compared" + (f" ({reasons[0]})" if reasons else ""))


def _keys(ranks: Sequence[_Rank], training: Sequence[int]) -> list[tuple[str, int, Any]]:
    """What can be compared: sets of the same form, of the same place among these, and a group."""
    keys: dict[tuple[str, int, Any], None] = {}
    for rank in training:
        for form, place, one in _placed(ranks[rank]):
            for group in _groups(one):
                keys[(form, place, ALL if group == ALL else tuple(group))] = None
    return list(keys)


def _placed(rank: _Rank) -> list[tuple[str, int, Record]]:
    """The sets whose gradients were averaged: form, number among those of this form, set."""
    seen: dict[str, int] = {}
    placed = []
    for one in rank.trained:
        if one["how"] == "gradients" and _groups(one):
            place = seen[one["form"]] = seen.get(one["form"], -1) + 1
            placed.append((one["form"], place, one))
    return placed


def _compare(ranks: Sequence[_Rank], key: tuple[str, int, Any]) -> _Compared:
    form, place, group = key
    members = range(len(ranks)) if group == ALL else [r for r in group if 0 <= r < len(ranks)]
    held: list[tuple[int, Record]] = []
    for rank in members:
        for its_form, its_place, one in _placed(ranks[rank]):
            if (its_form, its_place) == (form, place) and one.get("weights"):
                held.append((rank, one["weights"]))
    reason = next((weights["why"] for _, weights in held if weights["why"]), "")
    if len(held) < 2 or reason:
        return _Compared(0, 0, "", False, reason)
    changed = {index for _, weights in held for index in weights["changed"]}
    tables = [(rank, _table(weights)) for rank, weights in held]
    blind = any(weights["blind"] for _, weights in held)
    found = _Compared(0, 0, "", any(len(w["kept"]) < len(w["shapes"]) for _, w in held), "")
    for rank, table in tables[1:]:
        shared = [index for index in tables[0][1] if index in table and index not in changed]
        pairs = [(tables[0][1][index], table[index]) for index in shared]
        found = found._replace(compared=found.compared + len(pairs))
        where = f"between ranks {tables[0][0]} and {rank}"
        if blind and _far(pairs) > ANOTHER_MODEL:
            return found._replace(
                differing=1, worst=f"the model by {_percent(_far(pairs))} of its size {where}"
            )
        apart = [] if blind else [(_far([pair]), index) for pair, index in zip(pairs, shared)]
        distance, index = max(apart, default=(0.0, 0))
        if distance > FAR_APART:
            shape = held[0][1]["shapes"][index] or "()"
            worst = f"a variable of shape {shape} by {_percent(distance)} of its size {where}"
            return found._replace(differing=1, worst=worst)
    if not found.compared:
        found = found._replace(reason="reassigned after the last step" if changed else "")
    return found


def _table(weights: Record) -> dict[int, tuple[float, ...]]:
    """Variable's index -> its floats; those that could not be read are left out."""
    data = base64.b64decode(weights["prints"])
    width = 4 * PRINT_FLOATS
    table = {}
    for place, index in enumerate(weights["kept"]):
        piece = data[place * width : (place + 1) * width]
        if len(piece) == width:
            floats = struct.unpack(f"<{PRINT_FLOATS}f", piece)
            if all(number == number and abs(number) != float("inf") for number in floats):
                table[index] = floats
    return table


def _far(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> float:
    """How far variables of two ranks are apart, in parts of their size; an estimate.

    A projection on directions of signs moves by about the norm of the difference.
    """
    moved, size = 0.0, 0.0
    for own, others in pairs:
        steps = [(a - b) ** 2 for a, b in zip(own[1:], others[1:])]
        moved += max(sum(steps) / len(steps), (own[0] - others[0]) ** 2)
        size += max(own[0], others[0]) ** 2
    return float((moved / size) ** 0.5) if size > 1e-12 else 0.0


def _percent(part: float) -> str:
    return f"{min(part, 9.99):.0%}"


# -- reading -------------------------------------------------------------------------------------


def _read(evidence: Mapping[int, Sequence[Record]], size: int) -> list[_Rank]:
    return [_merged(evidence.get(rank) or ()) for rank in range(size)]


def _merged(records: Iterable[Record]) -> _Rank:
    final, joined, called = False, False, 0
    sets: list[Record] = []
    other: list[tuple[Any, int]] = []
    for record in records:
        try:
            own_sets = [_checked(one) for one in record["sets"]]
            own_other = [(_group(group), int(count)) for group, count in record["other"]]
            final = final or bool(record["final"])
            joined, called = joined or bool(record["joined"]), called + int(record["called_after"])
        except (KeyError, TypeError, ValueError):
            continue
        sets += own_sets
        other += own_other
    return _Rank(final, tuple(sets), tuple(other), joined, called)


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
        "phases": [str(phase) for phase in one["phases"]],
        "weights": None,
    }
    for name in ("variables", "elements", "local", "exchanged"):
        checked[name] = int(one[name])
    weights = one.get("weights")
    if weights:
        checked["weights"] = {
            "shapes": [str(shape)[:80] for shape in weights["shapes"]],
            "prints": str(weights["prints"]),
            "kept": [int(index) for index in weights["kept"]],
            "changed": [int(index) for index in weights["changed"]],
            "blind": bool(weights.get("blind")),
            "why": str(weights["why"])[:200],
        }
        if not all(0 <= index < len(weights["shapes"]) for index in checked["weights"]["kept"]):
            raise ValueError("a weight without a shape")
        _table(checked["weights"])
    return checked


def _group(group: Any) -> Any:
    return ALL if group == ALL else sorted({int(rank) for rank in group})


def _named(ranks: Sequence[int]) -> str:
    """``rank 3``, ``ranks 0, 1 and 5 others``."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    shown = ", ".join(str(rank) for rank in ranks[:8])
    return f"ranks {shown}" + (f" and {len(ranks) - 8} others" if len(ranks) > 8 else "")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# -- lines, where no agent carries the records -----------------------------------------------------


def encode(records: Sequence[Record], rank: int, serial: int, stamp: str = "") -> list[str]:
    """The lines that carry a rank's records; the newest complete ``serial`` counts.

    Returns:
        Lines of at most ``LINE_BYTES`` bytes, without line ends.
    """
    packed = base64.b64encode(zlib.compress(json.dumps(list(records)).encode(), 9)).decode()
    room = LINE_BYTES - 200
    pieces = [packed[start : start + room] for start in range(0, len(packed), room)] or [""]
    fields = {"stamp": stamp, "rank": rank, "serial": serial}
    return [
        LINE + json.dumps({**fields, "part": number, "parts": len(pieces), "data": piece})
        for number, piece in enumerate(pieces)
    ]


class Gathering:
    """Puts the lines of all ranks together again; wrong and foreign ones are left out.

    Args:
        stamp: The job's, which a line must carry; "" takes lines without one.
        world_size: Ranks beyond it are nobody's.
    """

    def __init__(self, stamp: str = "", world_size: int = 1 << 20):
        self._stamp, self._size = stamp, world_size
        self._pieces: dict[int, dict[int, dict[int, str]]] = {}
        self._parts: dict[tuple[int, int], int] = {}

    def feed(self, line: str) -> bool:
        """Takes a line; whether it is one of the job's."""
        if not line.startswith(LINE):
            return False
        try:
            fields = json.loads(line[len(LINE) :])
            rank, serial = int(fields["rank"]), int(fields["serial"])
            part, parts, data = int(fields["part"]), int(fields["parts"]), fields["data"]
        except (ValueError, KeyError, TypeError):
            return False
        fits = 0 <= rank < self._size and 0 <= part < parts <= _PIECES and isinstance(data, str)
        if fields.get("stamp", "") != self._stamp or not fits:
            return False
        serials = self._pieces.setdefault(rank, {})
        if len(serials) >= 4 and serial not in serials:
            oldest = min(serials)
            if serial < oldest:
                return True
            del serials[oldest]
            self._parts.pop((rank, oldest), None)
        serials.setdefault(serial, {})[part] = data[:LINE_BYTES]
        self._parts[(rank, serial)] = parts
        return True

    def evidence(self) -> dict[int, list[Record]]:
        """Rank -> its newest complete records."""
        found = {}
        for rank, serials in self._pieces.items():
            for serial in sorted(serials, reverse=True):
                records = self._whole(serials[serial], self._parts[(rank, serial)])
                if records is not None:
                    found[rank] = records
                    break
        return found

    @staticmethod
    def _whole(pieces: Mapping[int, str], parts: int) -> list[Record] | None:
        if len(pieces) < parts:
            return None
        try:
            packed = base64.b64decode("".join(pieces[number] for number in range(parts)))
            records = json.loads(zlib.decompressobj().decompress(packed, LARGEST))
        except (ValueError, KeyError, zlib.error):
            return None
        return records if isinstance(records, list) else None
