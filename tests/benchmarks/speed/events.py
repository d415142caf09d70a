"""Horovod's timeline: what is read from its file, and where a step's time went.

The file is a trace for Chrome (https://horovod.readthedocs.io/en/stable/timeline.html): one JSON
array, a "process" a tensor, microseconds. It is written as the job goes, so a job that was ended
leaves an array without an end.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

# From what may hide the others to what is hidden: a moment belongs to the first that goes on then.
PARTS = ("exchange", "copy", "queue", "negotiate", "compute")
EXCHANGE, COPY, QUEUE, NEGOTIATE, COMPUTE = PARTS
_INNER = (
    (COPY, re.compile(r"MEMCPY_|INIT_FUSION_BUFFER|ALLOCATE_OUTPUT")),
    (EXCHANGE, re.compile(r"(GLOO|MPI|NCCL|CCL|DDL)_|ADASUM")),
)
_NEGOTIATE = "NEGOTIATE_"
_BETWEEN_EVENTS = ", \r\n\t["
# A step that took so many times the middle one had an epoch's end or a checkpoint in it.
LONG = 3.0
WARM = 0.1  # of the steps, at the beginning


@dataclass(frozen=True)
class Span:
    """A part of a tensor's way, in microseconds since the file's start."""

    tensor: int
    part: str
    begin: float
    end: float


@dataclass(frozen=True)
class Step:
    """From where all gradients of one step were exchanged to where those of the next were.

    Attributes:
        begin: Microseconds since the file's start.
        end: As ``begin``.
        pieces: (part, begin, end) in the order of time, without gaps.
    """

    begin: float
    end: float
    pieces: Sequence[tuple[str, float, float]]

    @property
    def took(self) -> float:
        """Microseconds."""
        return self.end - self.begin

    def of(self, part: str) -> float:
        """Microseconds of ``part``."""
        return sum(end - begin for name, begin, end in self.pieces if name == part)


def events(text: str) -> list[dict[str, Any]]:
    """The events of a timeline's text, up to where it is cut off."""
    found: list[dict[str, Any]] = []
    decoder, at = json.JSONDecoder(), 0
    while True:
        while at < len(text) and text[at] in _BETWEEN_EVENTS:
            at += 1
        try:
            event, at = decoder.raw_decode(text, at)
        except ValueError:
            return found
        found.append(event)


def spans(found: Iterable[dict[str, Any]]) -> tuple[list[Span], dict[int, list[float]]]:
    """Every part of every tensor's way, and of each tensor the ends of its allreduces.

    Between the end of its negotiation and its exchange a tensor waits for its turn: ``queue``.
    What has no end in the file is left out.
    """
    open_: dict[int, list[tuple[str, float]]] = defaultdict(list)
    agreed: dict[int, float] = {}
    all_: list[Span] = []
    ends: dict[int, list[float]] = defaultdict(list)
    for event in found:
        if event.get("ph") not in ("B", "E"):
            continue
        tensor, moment = event["pid"], float(event["ts"])
        if event["ph"] == "B":
            open_[tensor].append((event["name"], moment))
            continue
        if not open_[tensor]:
            continue
        name, begin = open_[tensor].pop()
        if name.startswith(_NEGOTIATE):
            all_.append(Span(tensor, NEGOTIATE, begin, moment))
            agreed[tensor] = moment
        elif open_[tensor]:
            inner = next((part for part, names in _INNER if names.match(name)), QUEUE)
            all_.append(Span(tensor, inner, begin, moment))
        else:
            all_.append(Span(tensor, QUEUE, agreed.pop(tensor, begin), moment))
            if name == "ALLREDUCE":
                ends[tensor].append(moment)
    return all_, ends


def steps(all_: Sequence[Span], ends: dict[int, list[float]]) -> list[Step]:
    """The steps between the exchanges of the tensors that were exchanged most often."""
    most = max((len(moments) for moments in ends.values()), default=0)
    # A file that is cut off within a step lacks the last exchange of some.
    rounds = [moments for moments in ends.values() if len(moments) >= most - 1]
    marks = [max(moments) for moments in zip(*rounds, strict=False)]
    ordered = sorted(all_, key=lambda span: span.begin)
    made, at, live = [], 0, list[Span]()
    for begin, end in pairwise(marks):
        live = [span for span in live if span.end > begin]
        while at < len(ordered) and ordered[at].begin < end:
            live.append(ordered[at])
            at += 1
        made.append(Step(begin, end, _pieces(live, begin, end)))
    return made


def _pieces(live: Sequence[Span], begin: float, end: float) -> list[tuple[str, float, float]]:
    within = [
        (max(span.begin, begin), min(span.end, end), PARTS.index(span.part))
        for span in live
        if span.end > begin and span.begin < end
    ]
    bounds = sorted({begin, end, *(bound for span in within for bound in span[:2])})
    pieces: list[tuple[str, float, float]] = []
    for first, last in pairwise(bounds):
        active = (place for start, stop, place in within if start <= first and stop >= last)
        part = PARTS[min(active, default=PARTS.index(COMPUTE))]
        if pieces and pieces[-1][0] == part:
            first = pieces.pop()[1]
        pieces.append((part, first, last))
    return pieces


def ordinary(all_: Sequence[Step]) -> list[Step]:
    """Without the first tenth, which warms up, and the long ones: those that had more in them."""
    warm = list(all_[int(len(all_) * WARM) :])
    if not warm:
        return []
    middle = sorted(step.took for step in warm)[len(warm) // 2]
    return [step for step in warm if step.took <= LONG * middle]


def means(kept: Sequence[Step]) -> dict[str, float]:
    """Part -> milliseconds of a step, the mean over ``kept``; they add up to a step."""
    return {part: sum(step.of(part) for step in kept) / len(kept) / 1000 for part in PARTS}
