"""The judge of the evidence, without a rank."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from launch_runtime.evidence.finding import Finding
from launch_runtime.evidence.judge import judge
from launch_runtime.evidence.lines import LARGEST, LINE, LINE_BYTES, Gathering, encode
from launch_runtime.evidence.records import ALL, INIT, MODES, STRICT
from launch_runtime.rank.exchange import fingerprints

EQUAL = Finding("gradients exchanged, weights equal")


def weights(*values: float, **changes: Any) -> dict[str, Any]:
    """Variables of 300 elements, each around one of ``values``."""
    draw = numpy.random.RandomState(5)
    prints = [fingerprints.of(draw.rand(300) + value) for value in values]
    return {
        "shapes": ["300"] * len(values), "prints": fingerprints.joined(prints),
        "of": len(values), "kept": list(range(len(values))), "changed": [], "blind": False,
        "why": "", **changes,
    }  # fmt: skip


def exact(*variables: tuple[float, ...], **changes: Any) -> dict[str, Any]:
    """Variables whose norm and three projections are those."""
    data = b"".join(struct.pack("<4f", *one) for one in variables)
    return weights(
        *[0.0] * len(variables), **{"prints": base64.b64encode(data).decode(), **changes}
    )


def one_set(**changes: Any) -> dict[str, Any]:
    """What an optimizer trained and exchanged over all ranks."""
    return {
        "name": "Adam", "form": "f0", "variables": 2, "elements": 600, "local": 0,
        "exchanged": 2, "how": "gradients", "groups": [ALL], "phases": ["during"],
        "weights": weights(0.0, 1.0), **changes,
    }  # fmt: skip


def record(*sets: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "pid": 7, "final": True, "joined": False, "called_after": 0, "other": [],
        "sets": list(sets), **changes,
    }  # fmt: skip


def unfollowed(
    *values: float, step: int = 4, group: Any = ALL, what: str = "", **changes: Any
) -> dict[str, Any]:
    """Gradients that went out; what was applied is around ``values``."""
    prints = weights(*values)
    applied = {"step": step, "group": group, "kept": prints["kept"], "prints": prints["prints"]}
    return one_set(**{"how": "values", "applied": {**applied, "what": what}, **changes})


def moved(value: float, **changes: Any) -> dict[str, Any]:
    """Variables that a script may change unseen, the second one around ``value``."""
    return one_set(weights=weights(0.0, value, blind=True), **changes)


def sampled(*values: float, kind: str = "losses", **changes: Any) -> dict[str, Any]:
    """A good record, and what was read at steps 1, 2 and so on."""
    found = [[number, value] for number, value in enumerate(values, start=1)]
    return record(one_set(), samples={kind: found}, **changes)


ALONE = one_set(exchanged=0, how="", groups=[], weights=None)
BESIDE = one_set(form="f1", name="SGD", exchanged=0, how="", groups=[], weights=None)
OTHERS = one_set(weights=weights(9.0, -4.0))


UNKNOWN_EXCHANGE = one_set(exchanged=0, how="", groups=[], weights=weights(0.0, 1.0))


# Of another optimizer, which had nothing exchanged of what the first one trained before.
LATER = one_set(name="SGD", exchanged=0, how="", groups=[], later=True, weights=weights(0.0, 1.0))


def apart(value: float) -> dict[str, Any]:
    """One variable that was exchanged, and one of the rank's own around ``value``."""
    read = weights(0.0, value, sure=[0], lone=[1])
    return one_set(exchanged=1, lone=[1, 300], weights=read)


def over(*groups: Any, **changes: Any) -> dict[str, Any]:
    return one_set(groups=list(groups), **changes)


GOOD = {
    "all exchange": ([[record(one_set())]] * 2, EQUAL.words),
    "nothing trained": ([[record()]] * 2, "no training seen"),
    "values": (
        [[record(one_set(how="values", weights=None))]] * 2,
        "values exchanged, weights not compared",
    ),
    "gradients that came back by a copy": ([[record(unfollowed(2.0, 3.0))]] * 2, EQUAL.words),
    "gradients that are not alike, and weights that are": (
        [[record(unfollowed(value, 3.0, how="gradients"))] for value in (2.0, 5.0)],
        EQUAL.words,
    ),
    "sums of parts of the model, each in one rank": (
        [[record(unfollowed(value, 3.0, what="own", weights=weights(0.0, value)))]
         for value in (2.0, 5.0)],
        "values exchanged, weights not compared (each rank has a part of them)",
    ),
    "copies of gradients that came back": (
        [[record(unfollowed(2.0, 3.0, what="like"))]] * 2,
        EQUAL.words,
    ),
    "copies of gradients, or of weights that moved on": (
        [[record(unfollowed(value, 3.0, what="like", weights=weights(0.0, value)))]
         for value in (2.0, 2.5)],
        "values exchanged, own gradients applied, weights differ by 16% at the end",
    ),
    "gradients that seldom go": (
        [[record(moved(value, seldom=True))] for value in (1.0, 1.3)],
        "gradients exchanged at few steps, weights differ by 15% at the end",
    ),
    "gradients that seldom go, and equal weights": (
        [[record(one_set(seldom=True))]] * 2,
        EQUAL.words,
    ),
    "gradients that seldom go, beside what nobody can attribute": (
        [[record(moved(value, seldom=True), other=[[ALL, 600]])] for value in (1.0, 1.8)],
        "gradients exchanged, weights differ by 33% at the end",
    ),
    "gradients that seldom go, and beside them values of a second model that differs": (
        [
            [record(moved(value, seldom=True), moved(other, form="f1", how="values"))]
            for value, other in ((1.0, 1.0), (1.01, 1.8))
        ],
        "gradients exchanged at few steps, weights differ by 33% at the end",
    ),
    "gradients that seldom go in one of the ranks": (
        [[record(moved(value, seldom=value > 1))] for value in (1.0, 1.8)],
        "gradients exchanged, weights differ by 33% at the end",
    ),
    "gradients of the same data on every rank, applied as they were": (
        [[record(one_set(wasted=True))]] * 2,
        EQUAL.words,
    ),
    "one rank applied its own": (
        [[record(one_set(wasted=True, weights=None))], [record(one_set(weights=None))]],
        "gradients exchanged, weights not compared",
    ),
    "gradients that came back by a copy, in two optimizers of a form": (
        [[record(unfollowed(2.0, 3.0), unfollowed(7.0, 8.0))]] * 2,
        EQUAL.words,
    ),
    "gradients that came back by a copy, and differ by rounding": (
        [[record(unfollowed(2.0, 3.0))], [record(unfollowed(2.000001, 3.0))]],
        EQUAL.words,
    ),
    "gradients that came back by a copy, beside a variable of each rank's own": (
        [[record(unfollowed(2.0, 3.0, weights=weights(0.0, own, sure=[0])))] for own in (1.0, 9.0)],
        EQUAL.words,
    ),
    "parameters averaged, beside a variable of each rank's own": (
        [[record(one_set(how="weights", weights=weights(0.0, own, sure=[0])))]
         for own in (1.0, 9.0)],
        "parameters exchanged, weights equal",
    ),
    "parameters of which each rank was seen to send others": (
        [[record(one_set(how=how, weights=weights(0.0, 1.0, sure=sure)))]
         for how, sure in (("weights", [0]), ("values", [1]))],
        "parameters exchanged, weights equal",
    ),
    "gradients of parts over some, and of the rest over all": (
        [
            [record(over([0, 2], ALL, common=[[0, 2]], weights=weights(1.0)))],
            [record(over([1, 3], ALL, common=[[1, 3]], weights=weights(8.0)))],
            [record(over([0, 2], ALL, common=[[0, 2]], weights=weights(1.0)))],
            [record(over([1, 3], ALL, common=[[1, 3]], weights=weights(8.0)))],
        ],
        EQUAL.words,
    ),
    "gradients that were looked at, and weights averaged": (
        [[record(unfollowed(2.0, 3.0))], [record(unfollowed(5.0, -3.0))]],
        "values exchanged, weights equal",
    ),
    "gradients that were looked at, where weights cannot be read": (
        [
            [record(unfollowed(2.0, 3.0, weights=None))],
            [record(unfollowed(5.0, -3.0, weights=None))],
        ],
        "values exchanged, weights not compared",
    ),
    "averages of pairs, and weights of all averaged now and then": (
        [
            [record(unfollowed(mean, group=pair, weights=weights(mean / 10, blind=True)))]
            for mean, pair in ((2.0, [0, 1]), (2.0, [0, 1]), (5.0, [2, 3]), (5.0, [2, 3]))
        ],
        "gradients exchanged, weights differ by 27% at the end",
    ),
    "gradients of other steps": (
        [[record(unfollowed(2.0, 3.0))], [record(unfollowed(5.0, -3.0, step=8))]],
        "values exchanged, weights equal",
    ),
    "gradients of which none could be read": (
        [[record(unfollowed())]] * 2,
        "values exchanged, weights equal",
    ),
    "gradients that came back as an exchange left them too": (
        [
            [record({**unfollowed(2.0, 3.0), "how": "gradients"})],
            [record({**unfollowed(5.0, -3.0), "how": "gradients"})],
        ],
        EQUAL.words,
    ),
    "parameters averaged": (
        [[record(one_set(how="weights"))]] * 2,
        "parameters exchanged, weights equal",
    ),
    "parameters averaged, and steps after that": (
        [[record(one_set(how="weights"))], [record(one_set(how="weights", weights=weights(5, 9)))]],
        "parameters exchanged, weights differ by 85% at the end",
    ),
    "averages put in after the last step": (
        [[record(one_set(how="weights", weights=weights(0.0, 1.0, changed=[0, 1])))]] * 2,
        "parameters exchanged, weights equal",
    ),
    "Adasum in 16 bits after backward passes": (
        [[record(one_set(ways=["accumulated", "adasum", "fp16", "\x1b[31m"]))]] * 2,
        "gradients exchanged (Adasum, fp16, accumulated), weights equal",
    ),
    "an exchange that nobody can attribute": (
        [[record(ALONE, other=[[ALL, 600]])]] * 2,
        "exchange of unknown values seen, weights not compared",
    ),
    "values, to weights that ranks have moved on from": (
        [[record(one_set(how="values", weights=weights(0.0, moved)))] for moved in (1.0, 1.1)],
        "values exchanged, weights differ by 6% at the end",
    ),
    "values that were assigned at the end": (
        [[record(one_set(how="values", weights=weights(0.0, 1.0, changed=[0, 1])))]] * 2,
        "values exchanged, weights equal",
    ),
    "an exchange that nobody can attribute, and equal weights": (
        [[record({**ALONE, "weights": weights(0.0, 1.0)}, other=[[ALL, 600]])]] * 2,
        "exchange of unknown values seen, weights equal",
    ),
    "an exchange that nobody can attribute, and other weights": (
        [[record({**ALONE, "weights": weights(*held)}, other=[[ALL, 600]])]
         for held in ((0.0, 1.0), (9.0, -4.0))],
        "exchange of unknown values seen, weights differ by 99% at the end",
    ),
    "an exchange between some that nobody can attribute, and weights of others": (
        [[record({**ALONE, "weights": weights(0.0, held)}, other=[[[0, 1], 600], [[1, 2], 600]])]
         for held in (1.0, 1.0, 1.0)],
        "exchange of unknown values seen, weights equal",
    ),
    "one rank trains and sends": (
        [[record(ALONE, called_after=3)], [record()]],
        "rank 0 trained, and exchanged with the others",
    ),
    "one rank has an optimizer more": (
        [[record(one_set(), BESIDE)], [record(one_set())]],
        EQUAL.words,
    ),
    "joined": (
        [[record(one_set(), joined=True)], [record(OTHERS)]],
        "gradients exchanged, weights not compared (hvd.join() was called)",
    ),
    "reassigned by rank 0 alone": (
        [[record(one_set(weights=weights(5.0, 5.0, changed=[0, 1])))], [record(one_set())]],
        "gradients exchanged, weights not compared (reassigned after the last step)",
    ),
    "one variable reassigned": (
        [[record(one_set(weights=weights(5.0, 1.0, changed=[0])))], [record(one_set())]],
        EQUAL.words,
    ),
    "ranks that left their GPUs alone": (
        [[record(one_set(), idle_gpu="CUDA is missing")]] * 2,
        f"{EQUAL.words}, all GPUs idle",
    ),
    "one that did": (
        [[record(one_set(), idle_gpu=why)] for why in ("", "CUDA is missing", "")],
        f"{EQUAL.words}, the GPU of rank 1 idle",
    ),
    "one that trained, and served the others": (
        [[record(ALONE, called_after=3, idle_gpu="CUDA is missing")], [record()]],
        "rank 0 trained, and exchanged with the others, the GPU of rank 0 idle",
    ),
    "two that did": (
        [[record(one_set(), idle_gpu=why)] for why in ("", "CUDA is missing", "CUDA is missing")],
        f"{EQUAL.words}, the GPUs of ranks 1 and 2 idle",
    ),
    "a process beside the one that trains on a GPU": (
        [[record(idle_gpu="CUDA is missing"), record(one_set(), idle_gpu="", pid=8)]] * 2,
        EQUAL.words,
    ),
    "two processes that train, and one on a GPU": (
        [[record(one_set(), idle_gpu="CUDA is missing"), record(one_set(), idle_gpu="", pid=8)]]
        * 2,
        EQUAL.words,
    ),
    "idle GPUs, and the same samples": (
        [[sampled(2.3, 2.1, 1.9, idle_gpu="CUDA is missing")]] * 2,
        f"{EQUAL.words}, all GPUs idle, losses equal in all ranks (the same samples?)",
    ),
    "shards over groups": (
        [
            [record(over([0, 2], weights=weights(1.0)), other=[[[0, 1], 600]])],
            [record(over([1, 3], weights=weights(8.0)), other=[[[0, 1], 600]])],
            [record(over([0, 2], weights=weights(1.0)), other=[[[2, 3], 600]])],
            [record(over([1, 3], weights=weights(8.0)), other=[[[2, 3], 600]])],
        ],
        EQUAL.words,
    ),
    "one GPU, and others too": (
        [[record(one_set(), devices=["a"])], [record(one_set(), devices=["a", "b"])]],
        EQUAL.words,
    ),
    "one of two models of one shape, of which values alone went, maybe": (
        [[record(one_set(), one_set(how="values", weights=weights(0.0, value)))]
         for value in (1.0, 1.1)],
        "gradients exchanged, weights differ by 6% at the end",
    ),
    "the same samples, gathered, and steps that rounding parts": (
        [[record({**UNKNOWN_EXCHANGE, "shut": True, "weights": weights(0.0, value)},
                 other=[[ALL, 600]], samples={"batches": [[1, 3.0], [2, 5.0], [3, 4.0]]})]
         for value in (1.0, 1.01)],
        "exchange of unknown values seen, weights differ by 0.6% at the end",
    ),
    "the same samples, gathered, and the same steps": (
        [[record({**UNKNOWN_EXCHANGE, "shut": True}, other=[[ALL, 600]])]] * 2,
        "exchange of unknown values seen, weights equal",
    ),
    "the last part of a model, whose steps are its own": (
        [[record({**UNKNOWN_EXCHANGE, "shut": rank == 1, "weights": weights(0.0, rank)},
                 other=[[ALL, 600]])] for rank in (0, 1)],
        "exchange of unknown values seen, weights differ by 58% at the end",
    ),
    "local variables alone": ([[record(one_set(), {**BESIDE, "local": 2})]] * 2, EQUAL.words),
    "a group that one of its ranks names": (
        [[record(over([0, 2]))], [record(over([0, 1]))], [record(over([0, 2]))]],
        EQUAL.words,
    ),
    "two optimizers of one shape": ([[record(one_set(), OTHERS)]] * 2, EQUAL.words),
    "a child trained": ([[record(), record(one_set(), pid=8)]] * 2, EQUAL.words),
    "a finer optimizer after shutdown": (
        [[record(one_set(), {**BESIDE, "phases": ["after"]})]] * 2,
        EQUAL.words,
    ),
    "no weights to be had": (
        [[record(one_set(weights=weights(1.0, why="the weights could not be read")))]] * 2,
        "gradients exchanged, weights not compared (the weights could not be read)",
    ),
    "a sample": (
        [[record(one_set(weights=weights(1.0, 2.0, of=9)))]] * 2,
        "gradients exchanged, weights equal in a sample",
    ),
    "changed unseen": (
        [
            [record(one_set(weights=weights(0.0, 1.0, blind=True)))],
            [record(one_set(weights=weights(0.05, 1.2, blind=True)))],
        ],
        "gradients exchanged, weights differ by 11% at the end",
    ),
    "changed unseen, a sample, the last rank furthest but one": (
        [
            [record(one_set(weights=exact((norm, 0, 0, 0), blind=True, of=2)))]
            for norm in (20, 20, 16, 18)
        ],
        "gradients exchanged, weights differ by 20% at the end in a sample",
    ),
    "a group that its first rank alone names": (
        [[record(over([0, 1]))], [record(ALONE)]],
        "gradients exchanged, weights not compared",
    ),
    "a group that its last rank alone names, whose weights are new": (
        [[record(ALONE)], [record(over([0, 1], weights=weights(0.0, 1.0, changed=[0, 1])))]],
        "gradients exchanged, weights not compared",
    ),
    "a group with ranks that are none": ([[record(over([-1, 0, 1, 2]))]] * 2, EQUAL.words),
    "two GPUs for each": ([[record(one_set(), devices=["a", "b"])]] * 2, EQUAL.words),
    "a hundredth of the gradients that nobody can attribute": (
        [[record({**ALONE, "elements": 10_000}, other=[[ALL, 100]])]] * 2,
        "exchange of unknown values seen, weights not compared",
    ),
    "weights of one of two optimizers are not to be had": (
        [[record(one_set(), one_set(form="f1", weights=weights(1.0, why="too late")))]] * 2,
        EQUAL.words,
    ),
    "no weights to be had, for two reasons": (
        [
            [record(one_set(weights=weights(1.0, why="too late")),
                    one_set(form="f1", weights=weights(1.0, why="too large")))]
        ] * 2,
        "gradients exchanged, weights not compared (too late)",
    ),
    "each rank kept another variable": (
        [[record(one_set(weights=exact((1, 0, 0, 0), shapes=["3", "3"], kept=[kept])))]
         for kept in (0, 1)],
        "gradients exchanged, weights not compared",
    ),
    "a variable that is no number": (
        [[record(one_set(weights=exact((float(bad), 0, 0, 0), (1, 0, 0, 0))))]
         for bad in ("nan", "inf")],
        EQUAL.words,
    ),
    "no variable that is a number": (
        [[record(one_set(weights=exact((1, float("nan"), 0, 0))))]] * 2,
        "gradients exchanged, weights not compared",
    ),
    "prints that were cut off": (
        [[record(one_set(weights={**exact((1, 0, 0, 0)), "shapes": ["3", "3"], "kept": [0, 1]}))]]
        * 2,
        EQUAL.words,
    ),
    "a variable without a shape": (
        [[record(one_set(weights=exact((1, 0, 0, 0), kept=[kept])))] for kept in (-1, 1)],
        "evidence missing",
    ),
    "what is no record before one that is": (
        [[{"pid": 1}, record(one_set())]] * 2,
        EQUAL.words,
    ),
    "a later optimizer whose steps were taken back": (
        [[record(one_set(weights=weights(0.0, 1.0, on=[0, 1])), LATER)]] * 2,
        EQUAL.words,
    ),
    "a few elements beside, as copies or in a metric's tensor": (
        [[record(one_set(), {**BESIDE, "elements": 1, "weights": weights(3.0)})]] * 2,
        EQUAL.words,
    ),
    "a later optimizer of one rank": (
        [
            [record(one_set(weights=weights(5.0, 1.0, on=[0, 1])),
                    {**LATER, "weights": weights(5.0, 1.0)})],
            [record(one_set())],
        ],
        "gradients exchanged, weights not compared (reassigned after the last step)",
    ),
    "a later optimizer of each rank, whose weights could not be read": (
        [[record(one_set(weights=None), {**LATER, "weights": None})]] * 2,
        "gradients exchanged, weights not compared",
    ),
    "two variables of each rank's own, and exchanges that may join them": (
        [[record(apart(value), other=[[ALL, 64]])] for value in (1.0, 1.1)],
        "gradients exchanged, weights differ by 6% at the end",
    ),
    "a variable of each rank's own that is equal": (
        [[record(apart(1.0))]] * 2,
        EQUAL.words,
    ),
    "exchanges that are rare, and weights that moved on": (
        [[record({**UNKNOWN_EXCHANGE, "weights": weights(0.0, value)}, rare=True,
                 other=[[ALL, 600]])] for value in (1.0, 1.1)],
        "exchange of unknown values seen, weights differ by 6% at the end",
    ),
    "exchanges at every step, and weights of each rank's own": (
        [[record({**UNKNOWN_EXCHANGE, "weights": weights(*values)}, rare=rare,
                 other=[[ALL, 600]])]
         for values, rare in (((0.0, 1.0), True), ((2.0, -1.0), False))],
        "exchange of unknown values seen, weights differ by 90% at the end",
    ),
    "no record at all": ([[], []], "evidence missing"),
    "a rank's record is missing": (
        [[record(one_set())], []],
        "rank 0 trained, and exchanged with the others, evidence missing from rank 1",
    ),
    "what is no record": ([[{"pid": 1}, {"sets": 3}], [["x"]]], "evidence missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_what_trained_together_passes_and_says_how(name: str) -> None:
    records, words = GOOD[name]

    found = judge(dict(enumerate(records)), len(records))

    assert (found.failure, found.words) == ("", words)


HALVES = [{"losses": [[1, first], [2, 2.1], [3, 1.9]]} for first in (2.3, 2.4)]
SAME = {
    "losses": (
        [[sampled(2.3, 2.1, 1.9)], [sampled(2.3, 2.1, 1.900001)]],
        ", losses equal in all ranks (the same samples?)",
    ),
    "losses, and one rank made more steps": (
        [[sampled(2.3, 2.1, 1.9)], [sampled(2.3, 2.1, 1.9, 1.2)]],
        ", losses equal in all ranks (the same samples?)",
    ),
    "batches": (
        [[sampled(40.0, 41.0, 39.0, kind="batches")]] * 3,
        ", batches equal in all ranks (the same samples?)",
    ),
    "batches that differ in their last bits": (
        [[sampled(40.0, 41.0, middle, kind="batches")] for middle in (39.0, 39.0000001)],
        "",
    ),
    "losses that differ at one step": ([[sampled(2.3, 2.1, end)] for end in (1.9, 1.8)], ""),
    "two steps": ([[sampled(2.3, 2.1)]] * 2, ""),
    "a loss that stands still": ([[sampled(0.5, 0.5, 0.5, 0.7)]] * 2, ""),
    "samples divided by the local rank": (
        [[sampled(first, 2.1, 1.9)] for first in (2.3, 2.4, 2.3, 2.4)],
        ", losses equal in ranks 0 and 2 (the same samples?)",
    ),
    "three of four": (
        [[sampled(first, 2.1, 1.9)] for first in (2.4, 2.3, 2.3, 2.3)],
        ", losses equal in ranks 1, 2 and 3 (the same samples?)",
    ),
    "parts of one model": (
        [
            [record(over([0, 2]), other=[[[0, 1], 600]], samples=HALVES[0])],
            [record(over([1, 3]), other=[[[0, 1], 600]], samples=HALVES[0])],
            [record(over([0, 2]), other=[[[2, 3], 600]], samples=HALVES[1])],
            [record(over([1, 3]), other=[[[2, 3], 600]], samples=HALVES[1])],
        ],
        "",
    ),
    "parts of one model, and a layer that all have": (
        [
            [record(over([0, 2], ALL, common=[[0, 2]]), samples=HALVES[0])],
            [record(over([1, 3], ALL, common=[[1, 3]]), samples=HALVES[0])],
            [record(over([0, 2], ALL, common=[[0, 2]]), samples=HALVES[1])],
            [record(over([1, 3], ALL, common=[[1, 3]]), samples=HALVES[1])],
        ],
        "",
    ),
    "parts of one model in one of the ranks": (
        [[record(one_set(parts=parts), samples=HALVES[0])] for parts in (True, False)],
        "",
    ),
    "parts of one model over all ranks": (
        [[record(one_set(parts=True), samples=HALVES[0])]] * 2,
        "",
    ),
    "two processes of a rank": ([[sampled(2.3, 2.1, 1.9), sampled(2.3, 2.1, 1.9, pid=8)]] * 2, ""),
    "none of one rank": ([[sampled(2.3, 2.1, 1.9)], [record(one_set())]], ""),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_ranks_that_seem_to_read_the_same_samples_are_told(name: str) -> None:
    records, words = SAME[name]

    found = judge(dict(enumerate(records)), len(records))

    assert found == Finding(EQUAL.words + words)


@pytest.mark.parametrize("samples", [3, "x", {"losses": 3}, {"losses": [[1]]}, {"losses": ["ab"]}])
def test_samples_that_are_none_make_a_record_none(samples: Any) -> None:
    found = judge({rank: [record(one_set(), samples=samples)] for rank in (0, 1)}, 2)

    assert found.words == "evidence missing"


BAD = {
    "variables into which nothing of what went came": (
        [[record(one_set(how="values", shut=True, weights=weights(0.0, value)))]
         for value in (1.0, 1.01)],
        "2 ranks trained apart: what went to other ranks was not put into the variables of 2 ranks",
    ),
    "averages that one of two ranks takes": (
        [[record(one_set(how="weights", given=True))],
         [record({**ALONE, "unused": True, "shut": True, "weights": weights(0.0, 1.01)})]],
        "was not put into the variables of 1 rank: Adam applied each rank's own gradients",
    ),
    "one of two models of one shape, beside averages of the other": (
        [[record(one_set(given=True, how="weights"),
                 one_set(shut=True, how="values", weights=weights(0.0, value)))]
         for value in (1.0, 1.01)],
        "2 ranks trained apart: what went to other ranks was not put into the variables of 2 ranks",
    ),
    "no exchange": ([[record(ALONE)]] * 3, "3 ranks trained apart: no gradient"),
    "weights that went out and never came in": (
        [[record({**ALONE, "unused": True})]] * 2,
        "2 ranks trained apart: their weights went to other ranks, and no variable was given",
    ),
    "what came back was put nowhere": (
        [
            [record(unfollowed(2.0, 3.0))],
            [record(unfollowed(5.0, -3.0, weights=weights(0.0, 1.1)))],
        ],
        "came back was not put into them: Adam applied other gradients in each rank, in step 4",
    ),
    "gradients that were computed anew after their average": (
        [
            [record(unfollowed(2.0, 3.0, how="gradients"))],
            [record(unfollowed(5.0, -3.0, how="gradients", weights=weights(0.0, 1.1)))],
        ],
        "2 ranks trained apart: their gradients went to other ranks, and what came back was not",
    ),
    "sums that one rank alone has, and the others' own gradients": (
        [
            [record(unfollowed(2.0, 3.0, what="own"))],
            [record(unfollowed(5.0, -3.0, weights=weights(0.0, 1.1)))],
        ],
        "2 ranks trained apart: their gradients went to other ranks, and what came back was not",
    ),
    "gradients that seldom go, beside those of another model": (
        [
            [record(moved(value, seldom=True), moved(other, form="f1"))]
            for value, other in ((1.0, 1.8), (2.0, 2.1))
        ],
        "their weights differ by ",
    ),
    "gradients that seldom go, and weights of each rank's own": (
        [[record(moved(value, seldom=True))] for value in (1.0, 1.8)],
        "their weights differ by 33% at the end, and at most steps no gradient went through",
    ),
    "gradients that went out and were applied as they were": (
        [[record(one_set(wasted=True))], [record(one_set(wasted=True, weights=weights(0, 1.1)))]],
        "2 ranks trained apart: their gradients went to other ranks, and what came back was not",
    ),
    "gradients that were applied as they were, where weights cannot be read": (
        [[record(one_set(wasted=True, weights=None))]] * 2,
        "what came back was not put into them: Adam applied their own gradients",
    ),
    "what came back was put nowhere on the last of three": (
        [[record(unfollowed(2.0, 3.0))]] * 2
        + [[record(unfollowed(5.0, -3.0, weights=weights(0.0, 1.1)))]],
        "3 ranks trained apart: their gradients went to other ranks",
    ),
    "gradients that came back by a copy, to weights of each ranks own": (
        [
            [record(unfollowed(2.0, 3.0))],
            [record(unfollowed(2.0, 3.0, weights=weights(9.0, -4.0)))],
        ],
        "gradients were exchanged, but the weights differ at the end",
    ),
    "two of three": (
        [[record(ALONE)], [record(ALONE)], [record()]],
        "2 ranks of 3 trained apart: no gradient",
    ),
    "one alone": ([[record()], [record(ALONE)]], "rank 1 trained alone: 1 other rank neither"),
    "before init": (
        [[record({**ALONE, "phases": ["before"]})]] * 2,
        "2 ranks trained apart: they trained before hvd.init() had returned",
    ),
    "after shutdown": (
        [[record({**ALONE, "phases": ["after"]})]] * 2,
        "2 ranks trained apart: they trained while Horovod was not running",
    ),
    "before init and behind it": (
        [[record({**ALONE, "phases": ["before", "during"]})]] * 2,
        "2 ranks trained apart: no gradient and no weight went through Horovod",
    ),
    "a wrapped model of which Horovod knows nothing": (
        [[record({**ALONE, "past": True})]] * 2,
        "2 ranks trained apart: no gradient and no weight went through Horovod",
    ),
    "less than a hundredth of the gradients that nobody can attribute": (
        [[record({**ALONE, "elements": 9_999}, other=[[ALL, 99]])]] * 2,
        "2 ranks trained apart: no gradient",
    ),
    "exchanges of one rank alone that nobody can attribute": (
        [[record(ALONE, other=[[[rank], 600]])] for rank in (0, 1)],
        "2 ranks trained apart: no gradient",
    ),
    "groups whose other rank is none": (
        [[record(over([-1, 0]))], [record(over([1, 2]))]],
        "2 groups of ranks trained apart (rank 0; rank 1)",
    ),
    "weights differ in a group with a rank that is none": (
        [[record(over([-1, 0, 1], weights=weights(value)))] for value in (0.0, 9.0)],
        "between ranks 0 and 1",
    ),
    "sets of one": (
        [[record(over([0], weights=None))], [record(over([1], weights=None))]],
        "2 ranks trained apart: their gradients went through process sets of one rank",
    ),
    "pairs": (
        [[record(over([first, first + 1]))] for first in (0, 0, 2, 2)],
        "2 groups of ranks trained apart (ranks 0 and 1; ranks 2 and 3)",
    ),
    "a metric over all beside pairs": (
        [[record(over([first, first + 1]), other=[[ALL, 3]])] for first in (0, 0, 2, 2)],
        "2 groups of ranks trained apart",
    ),
    "two ranks on one GPU": (
        [[record(one_set(), devices=[device])] for device in ("b", "a", "b")],
        "ranks 0 and 2 trained on one GPU, b, although each rank has its own",
    ),
    "an optimizer forgotten": (
        [[record(one_set(), BESIDE)]] * 2,
        "2 ranks trained apart with one of their optimizers: the gradients of SGD",
    ),
    "a few elements beside, which are apart": (
        [[record(one_set(), {**BESIDE, "elements": 1, "weights": weights(value)})]
         for value in (3.0, 3.1)],
        "2 ranks trained apart with one of their optimizers: the gradients of SGD",
    ),
    "a few elements beside, which nobody could read": (
        [[record(one_set(), {**BESIDE, "elements": 1})]] * 2,
        "2 ranks trained apart with one of their optimizers: the gradients of SGD",
    ),
    "a later optimizer of each rank, by which they moved a little": (
        [[record(one_set(weights=weights(0.0, 1.0, on=[0, 1])),
                 {**LATER, "weights": weights(value, 1.0)})] for value in (0.0, 0.0005)],
        "2 ranks trained apart with one of their optimizers: the gradients of SGD",
    ),
    "two variables of each rank's own, and exchanges that are rare": (
        [[record(apart(value), rare=True, other=[[ALL, 64]])] for value in (1.0, 1.1)],
        "ranks trained apart in a part: 1 of the 2 variables of Adam were not exchanged",
    ),
    "two variables of each rank's own": (
        [[record(apart(value))] for value in (1.0, 1.1)],
        "ranks trained apart in a part: 1 of the 2 variables of Adam were not exchanged",
    ),
    "exchanges that are rare, and weights of each rank's own": (
        [[record(UNKNOWN_EXCHANGE, rare=True, other=[[ALL, 600]])],
         [record({**UNKNOWN_EXCHANGE, "weights": weights(2.0, -1.0)}, rare=True,
                 other=[[ALL, 600]])]],
        "2 ranks trained apart: their weights differ by",
    ),
    "weights differ": (
        [[record(one_set())], [record(OTHERS)]],
        "gradients were exchanged, but the weights differ at the end: a variable of shape 300",
    ),
    "weights differ on the last of four": (
        [[record(one_set())]] * 3 + [[record(OTHERS)]],
        "between ranks 0 and 3",
    ),
    "weights of two models differ": (
        [
            [record(one_set(weights=weights(value, shapes=["7x2"])),
                    one_set(form="f1", weights=weights(value)))]
            for value in (0.0, 9.0)
        ],
        "a variable of shape 7x2 by",
    ),
    "another model, changed unseen": (
        [[record(one_set(weights=weights(0.0, 1.0, blind=True)))],
         [record(one_set(weights=weights(9.0, -9.0, blind=True)))]],
        "the model by",
    ),
    "apart although a record is missing": (
        [[record(ALONE)], [record(ALONE)], []],
        "2 ranks of 3 trained apart",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_trained_apart_fails_with_its_reason_and_a_fix(name: str) -> None:
    records, said = BAD[name]

    found = judge(dict(enumerate(records)), len(records))

    assert said in found.failure
    assert found.fix.endswith("--proof init")


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        (1, "rank 0"),
        (8, "ranks 0, 1, 2, 3, 4, 5, 6 and 7, and"),
        (9, "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 1 more,"),
        (10, "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 2 more,"),
    ],
)
def test_the_first_eight_of_many_ranks_are_named(missing: int, named: str) -> None:
    records = {rank: [record(one_set(), final=rank >= missing)] for rank in range(12)}
    assert f"from {named}" in judge(records, 12, STRICT).failure


def test_init_asks_for_nothing_and_strict_for_every_rank() -> None:
    apart = {0: [record(ALONE)], 1: [record(ALONE)]}
    partial = {0: [record(one_set())], 1: [record(one_set(), final=False)]}

    assert judge(apart, 2, INIT) == Finding("")
    assert judge(apart, 1, STRICT) == Finding(""), "one rank has nobody to exchange with"
    assert judge(partial, 2).words.endswith("evidence missing from rank 1")
    strict = judge(partial, 2, STRICT)
    assert strict.failure.startswith("no evidence of the training from rank 1")
    assert strict.missing == (1,)
    assert judge({0: [record(one_set())], 1: [record(one_set())]}, 2, STRICT) == EQUAL


def test_rounding_is_no_difference_and_other_start_weights_are() -> None:
    draw = numpy.random.RandomState(3)
    values = draw.randn(512, 640).astype("float32")
    near = values + draw.randn(512, 640).astype("float32") * 1e-4
    other = draw.randn(512, 640).astype("float32")

    def held(array: Any) -> list[dict[str, Any]]:
        own = weights(0.0)
        own["prints"] = fingerprints.joined([fingerprints.of(array)])
        return [record(one_set(weights=own))]

    assert judge({0: held(values), 1: held(near)}, 2) == EQUAL
    assert "the weights differ" in judge({0: held(values), 1: held(other)}, 2).failure
    assert "the weights differ" in judge({0: held(values), 1: held(values * 1.2)}, 2).failure


@pytest.mark.parametrize(
    ("own", "others", "percent"),
    [
        ((10, 1, 2, 3), (10, 7, 2, 3), 35),
        ((2, 0, 0, 0), (2, 1, 0, 0), 29),
        ((0.5, 0, 0, 0), (0.5, 0.25, 0, 0), 29),
        ((20, 1, 2, 3), (10, 7, 2, 3), 50),
        ((0, 0, 0, 0), (0, 0, 0, 0), 0),
        ((1, 0, 0, 0), (1, 100, 0, 0), 999),
    ],
)
def test_a_distance_is_told_in_parts_of_the_size(
    own: tuple[float, ...], others: tuple[float, ...], percent: int
) -> None:
    for pair in ((own, others), (others, own)):
        found = judge(
            {rank: [record(one_set(weights=exact(one)))] for rank, one in enumerate(pair)}, 2
        )

        if percent:
            assert f"a variable of shape 300 by {percent}% of its size" in found.failure
        else:
            assert found == EQUAL


@pytest.mark.parametrize(
    ("norm", "words"),
    [
        (19.99, "weights equal"),
        (19.9, "weights differ by 0.5% at the end"),
        (19, "weights differ by 5% at the end"),
    ],
)
def test_weights_less_than_five_percent_apart_are_told_and_not_refused(
    norm: float, words: str
) -> None:
    ranks = [[record(one_set(weights=exact((size, 0, 0, 0))))] for size in (20, norm)]

    assert judge(dict(enumerate(ranks)), 2) == Finding(f"gradients exchanged, {words}")


@pytest.mark.parametrize(
    ("how", "norm", "found"),
    [
        ("gradients", 19.99, "gradients exchanged, weights equal"),
        ("gradients", 19.9, "gradients exchanged, weights differ by 0.5% at the end"),
        ("gradients", 19, "gradients exchanged, weights differ by 5% at the end"),
        ("gradients", 10, "gradients exchanged, weights differ by 50% at the end"),
        ("gradients", 8, "the model by 60% of its size"),
        ("weights", 19.99, "parameters exchanged, weights equal"),
        ("weights", 19, "parameters exchanged, weights differ by 5% at the end"),
        ("weights", 8, "parameters exchanged, weights differ by 60% at the end"),
    ],
)
def test_of_weights_that_may_change_unseen_only_another_model_counts(
    how: str, norm: float, found: str
) -> None:
    records = {
        rank: [record(one_set(how=how, weights=exact((size, 0, 0, 0), blind=True)))]
        for rank, size in enumerate((20, norm))
    }

    judged = judge(records, 2)

    assert found in (judged.failure or judged.words)


def test_floats_of_a_variable_do_not_depend_on_its_shape_or_layout() -> None:
    values = numpy.arange(30_000, dtype="float32").reshape(100, 300)

    assert fingerprints.of(values) == fingerprints.of(values.reshape(-1))
    assert fingerprints.of(values.T) != fingerprints.of(values)
    assert struct.unpack("<4f", fingerprints.of(numpy.zeros((3, 0)))) == (0, 0, 0, 0)


def test_of_many_variables_the_largest_are_compared_the_same_on_every_rank() -> None:
    sizes = [number % 700 for number in range(2000)]

    chosen = fingerprints.chosen(sizes)

    assert len(chosen) == fingerprints.MOST_VARIABLES
    assert chosen == sorted(chosen)
    assert min(sizes[index] for index in chosen) >= 580


def test_lines_bring_records_of_any_size_in_any_order() -> None:
    big = record(*[one_set(form=f"f{number}", name=str(number) * 40) for number in range(400)])
    draw = numpy.random.RandomState(1)
    big["sets"][0]["weights"] = weights(*draw.rand(900).tolist())
    lines = encode([big], rank=3, serial=2, stamp="ab")
    gathering = Gathering("ab", world_size=4)

    assert len(lines) > 1
    assert all(len(line.encode()) <= LINE_BYTES for line in lines)
    assert all(gathering.feed(line) for line in [*encode([record()], 3, 1, "ab"), *lines[::-1]])
    assert gathering.evidence() == {3: json.loads(json.dumps([big]))}


def test_an_unfinished_record_leaves_the_one_before() -> None:
    long = record(*[one_set(name=str(number) * 60) for number in range(500)])
    gathering = Gathering("ab")
    for line in [*encode([record()], 0, 1, "ab"), *encode([long], 0, 2, "ab")[:-1]]:
        gathering.feed(line)

    assert gathering.evidence() == {0: [record()]}


@pytest.mark.parametrize(
    "line",
    [
        "launch: evidence: {}",
        "launch: evidence: nothing",
        "launch: evidence: []",
        *encode([record()], 0, 1, "cd"),
        *encode([record()], 9, 1, "ab"),
        *encode([record()], -1, 1, "ab"),
        'launch: evidence: {"stamp":"ab","rank":0,"serial":1,"part":5,"parts":1,"data":""}',
        'launch: evidence: {"stamp":"ab","rank":0,"serial":1,"part":0,"parts":1e9,"data":""}',
        "a line of the script",
    ],
)
def test_a_line_that_is_not_the_jobs_is_left_out(line: str) -> None:
    gathering = Gathering("ab", world_size=4)

    assert not gathering.feed(line)
    assert gathering.evidence() == {}


def test_damaged_and_huge_data_is_no_evidence() -> None:
    gathering = Gathering("ab")
    for rank, data in enumerate(("!!", "QUJD", "eJw=")):
        line = encode([record()], rank, 1, "ab")[0]
        fields = json.loads(line[len(LINE) :])
        gathering.feed(LINE + json.dumps({**fields, "data": data}))
    huge = encode([{"sets": "x" * (LARGEST + 100)}], 5, 1, "ab")
    for line in huge:
        gathering.feed(line)

    assert gathering.evidence() == {}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)


@given(st.lists(json_values, max_size=4), st.sampled_from(MODES))
def test_whatever_is_given_as_a_record_the_judge_answers(found: list[Any], mode: str) -> None:
    assert isinstance(judge({0: found, 1: [record(one_set())]}, 2, mode), Finding)
