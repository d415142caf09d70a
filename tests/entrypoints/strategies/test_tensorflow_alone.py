"""What the strategy tensorflow says without a TensorFlow: variables, consequences, one rank's
verdict."""

from __future__ import annotations

import json
from typing import Any

import pytest
from launch_runtime.strategies.strategy import Contact, Seat
from launch_runtime.strategies.tensorflow import STRATEGY

EXCHANGED: dict[str, Any] = {
    "name": "Adam", "form": "84a0c1d2", "variables": 4, "elements": 41, "local": 0,
    "exchanged": 4, "how": "gradients", "groups": ["all"], "phases": ["during"],
}  # fmt: skip
ALONE = {**EXCHANGED, "exchanged": 0, "how": "", "groups": []}


def record(*sets: dict[str, Any], final: bool = True) -> dict[str, Any]:
    told = {"pid": 7, "final": final, "joined": False, "called_after": 0, "other": []}
    return {**told, "sets": list(sets)}


def test_every_host_is_a_worker_at_the_port_that_its_agent_keeps():
    contacts = [Contact("10.0.0.4", 40001), Contact("10.0.0.5", 40002)]
    seat = Seat("host-2", position=1, hosts=2, processes=1, local_rank=0, contacts=contacts)
    config = json.loads(STRATEGY.variables(seat)["TF_CONFIG"])
    assert config == {
        "cluster": {"worker": ["10.0.0.4:40001", "10.0.0.5:40002"]},
        "task": {"type": "worker", "index": 1},
    }


def config(index: object, kind: str = "worker", **cluster: object) -> str:
    return json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})


@pytest.mark.parametrize(
    ("text", "size", "rank"),
    [
        (config(1, worker=["a:1", "b:1"]), 2, 1),
        (config("1", worker=["a:1", "b:1"]), 2, 1),
        # As Vertex AI writes it for several worker pools.
        (config(0, "chief", chief=["a:1"], worker=["b:1", "c:1"]), 3, 0),
        (config(1, chief=["a:1"], worker=["b:1", "c:1"]), 3, 2),
        (config(0, "evaluator", chief=["a:1"], evaluator=["b:1"]), 1, 0),
        (config(2, worker=["a:1", "b:1"]), 1, 0),
        ("", 1, 0),
        ("[]", 1, 0),
        ("{}", 1, 0),
        ("not JSON", 1, 0),
    ],
)
def test_without_our_agent_the_place_is_that_of_tf_config(text: str, size: int, rank: int):
    place = STRATEGY.place({"TF_CONFIG": text}, False)
    assert (place.size, place.rank) == (size, rank)
    assert place.by == ("TF_CONFIG" if size > 1 else "nobody")


class UnavailableError(Exception):
    """As tensorflow.errors has it."""


@pytest.mark.parametrize(
    ("error", "consequence"),
    [
        (UnavailableError("Graph execution error"), True),
        (RuntimeError("Collective ops is aborted by: Error reported from task 1"), True),
        (RuntimeError("{{node x}} Socket closed"), True),
        (ValueError("boom"), False),
        (KeyError("worker"), False),
    ],
)
def test_the_loss_of_a_peer_is_told_from_an_error_of_the_rank(error: Exception, consequence: bool):
    assert STRATEGY.is_consequence(error) is consequence


@pytest.mark.parametrize(
    ("records", "mode", "words", "failure"),
    [
        ([record(EXCHANGED)], "exchange", "gradients exchanged", ""),
        ([record({**EXCHANGED, "how": "values"})], "exchange", "values exchanged", ""),
        ([record(EXCHANGED, ALONE)], "exchange", "gradients exchanged", ""),
        ([record(ALONE)], "exchange", "", "one of 4 replicas trained"),
        ([record()], "exchange", "no training seen", ""),
        ([], "exchange", "evidence missing", ""),
        ([record(EXCHANGED, final=False)], "strict", "evidence missing", "no evidence"),
        ([record(ALONE)], "init", "", ""),
    ],
)
def test_the_one_rank_of_several_replicas_is_judged_by_itself(
    records: list[dict[str, Any]], mode: str, words: str, failure: str
):
    found = STRATEGY.judge({0: records}, 1, 4, mode)
    assert found.words == words
    assert found.failure.startswith(failure)
    assert bool(found.failure) == bool(failure)


def test_several_ranks_are_judged_as_those_of_other_strategies_are():
    found = STRATEGY.judge({0: [record(ALONE)], 1: [record(ALONE)]}, 2, 8, "exchange")
    assert found.failure.startswith("2 ranks trained apart: no gradient and no weight went through")
    assert "scope()" in found.fix
