"""What an optimizer's record says of weights of which a rank holds all, or a part."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy
import pytest
from launch_runtime.evidence.records import table
from launch_runtime.rank.exchange import fingerprints
from launch_runtime.rank.exchange.seen import Unclaimed
from launch_runtime.rank.exchange.set_records import record
from launch_runtime.rank.exchange.torch_tensors import is_part
from launch_runtime.rank.exchange.trained_set import TrainedSet
from launch_runtime.rank.exchange.trained_sets import TrainedSets
from launch_runtime.rank.exchange.variables import GRADIENTS, VALUES, WEIGHTS, Variable

from tests.places import ENTRYPOINTS


class Parameter:
    """What a weak reference can be made to."""


@pytest.fixture
def unclaimed() -> Unclaimed:
    return Unclaimed()


@pytest.fixture
def trained(unclaimed: Unclaimed):
    owner = Parameter()
    one = TrainedSet("Adam", owner, lambda: 3, unclaimed)
    kept = [owner]
    for place in range(2):
        parameter = Parameter()
        kept.append(parameter)
        variable = Variable(parameter, (3,), lambda place=place: numpy.full(3, place + 1.0))
        variable.went(GRADIENTS, "all")
        one.add(variable)
    one.kept = kept
    return one


def test_whole_weights_are_compared(trained: TrainedSet):
    entry = record(trained, True, 5.0)
    weights = entry["weights"]
    assert (weights["shapes"], weights["kept"], weights["why"]) == (["3", "3"], [0, 1], "")
    assert not entry["parts"]


def test_a_weight_is_named_by_its_number_among_all_of_the_set(trained: TrainedSet):
    trained.variables[0].hows, trained.variables[0].groups = set(), []
    told = record(trained, True, 5.0)["weights"]
    assert (told["shapes"], told["of"], told["kept"]) == (["3", "3"], 1, [1])
    trained.look_at_applied(2, "all", [(1, trained.variables[1])], lambda _: numpy.ones(3))
    assert record(trained, True, 5.0)["applied"]["kept"] == [1]


@pytest.mark.parametrize(("how", "blind", "compared"), [
    (GRADIENTS, True, 1), (WEIGHTS, False, 1), (WEIGHTS, True, 2), (VALUES, False, 2),
])  # fmt: skip
def test_of_what_is_a_guess_all_weights_are_compared(
    how: str, blind: bool, compared: int, trained: TrainedSet
):
    for variable in trained.variables:
        variable.is_blind, variable.is_renewed = blind, True
    trained.variables[0].hows, trained.variables[0].groups = set(), []
    trained.variables[1].hows = {how}
    told = record(trained, True, 5.0)
    assert (told["weights"]["of"], told["weights"]["sure"]) == (compared, [1])
    assert told["common"] == ["all"]


def test_a_group_that_some_variables_alone_went_over_is_common_to_none(trained: TrainedSet):
    trained.variables[0].went(GRADIENTS, [0, 1])
    told = record(trained, True, 5.0)
    assert (told["groups"], told["common"]) == (["all", [0, 1]], ["all"])


def test_what_another_optimizer_trains_too_is_in_a_set_once(
    trained: TrainedSet, unclaimed: Unclaimed
):
    beside = TrainedSet("SGD", None, None, unclaimed)
    for _ in range(2):
        beside.add(trained.variables[0])
    assert len(beside.variables) == 1


def test_with_a_part_among_them_nothing_is_compared_and_it_says_so(trained: TrainedSet):
    trained.variables[1].is_whole = False
    entry = record(trained, True, 5.0)
    assert entry["parts"]
    assert (entry["weights"]["kept"], entry["weights"]["why"]) == (
        [],
        "each rank has a part of them",
    )


def test_a_part_that_was_exchanged_in_another_way_counts_too(trained: TrainedSet):
    trained.variables[1].is_whole, trained.variables[1].hows = False, {"values"}
    assert record(trained, True, 5.0)["weights"]["why"] == "each rank has a part of them"


def test_the_weights_of_a_small_set_are_read_whatever_was_seen_of_it(trained: TrainedSet):
    for variable in trained.variables:
        variable.hows, variable.groups = set(), []
    assert record(trained, True, 5.0)["weights"]["kept"] == [0, 1]


def test_weights_are_read_where_what_went_out_may_have_been_theirs(
    trained: TrainedSet, unclaimed: Unclaimed
):
    for variable in trained.variables:
        variable.hows, variable.groups, variable.elements = set(), [], 300
    assert record(trained, True, 5.0)["weights"] is None
    unclaimed.see([600], "all")
    assert record(trained, True, 5.0)["weights"]["kept"] == [0, 1]
    trained.variables[0].is_whole = False
    assert record(trained, True, 5.0)["weights"]["why"] == "each rank has a part of them"


@pytest.mark.parametrize("went", [True, False])
def test_what_is_dropped_keeps_its_weights_where_they_may_be_asked_for(
    went: bool, trained: TrainedSet, unclaimed: Unclaimed
):
    for variable in trained.variables:
        variable.hows, variable.groups = set(), []
    if went:
        unclaimed.see([600], "all")
    trained.kept.clear()  # type: ignore[attr-defined]
    unclaimed.see([600], "all")
    told = record(trained, True, 5.0)["weights"]
    assert len(table(told)) == (2 if went else 0)
    assert told["why"] == ("" if went else "the weights could not be read")


def test_gradients_that_nobody_followed_are_told_with_the_weights(trained: TrainedSet):
    for variable in trained.variables:
        variable.hows = {"values"}
    assert "applied" not in record(trained, True, 5.0)

    def read(gradient: int) -> numpy.ndarray:
        if gradient == 0:
            raise ValueError("no real numbers")
        return numpy.full(3, gradient)

    trained.look_at_applied(2, "all", [(7, trained.variables[0])], read)
    trained.look_at_applied(4, [0, 2], list(zip([0, 5], trained.variables, strict=True)), read)
    told = record(trained, True, 5.0)
    assert [told["applied"][name] for name in ("step", "group", "kept")] == [4, [0, 2], [0, 1]]
    assert {index: one[0] for index, one in table(told["applied"]).items()} == {
        1: pytest.approx(5 * 3**0.5)
    }
    assert (told["how"], told["weights"]["kept"]) == ("values", [0, 1])


def test_of_many_gradients_the_largest_are_read(trained: TrainedSet, monkeypatch):
    monkeypatch.setattr(fingerprints, "MOST_APPLIED", 1)
    trained.variables[1].elements = 9
    seen: list[str] = []
    pairs = list(zip("ab", trained.variables, strict=True))
    trained.look_at_applied(
        1, "all", pairs, lambda gradient: seen.append(gradient) or numpy.ones(3)
    )
    assert (seen, record(trained, True, 5.0)["applied"]["kept"]) == (["b"], [1])


@pytest.mark.parametrize(
    ("sharded", "part"), [([], False), ([False], False), ([False, True], True)]
)
def test_a_dtensor_with_a_sharded_dimension_is_a_part(sharded: list[bool], part: bool):
    placements = [SimpleNamespace(is_shard=lambda value=value: value) for value in sharded]
    assert is_part(SimpleNamespace(placements=placements)) is part
    assert is_part(SimpleNamespace()) is False


AT_THE_END = """
import gc, sys
gc.set_threshold(10**6)
sys.path.insert(0, sys.argv[1])
from launch_runtime.rank.exchange.seen import Unclaimed
from launch_runtime.rank.exchange.trained_set import TrainedSet
from launch_runtime.rank.exchange.variables import GRADIENTS, Variable

class Tensor:
    pass

def read():
    print("read")
    return [1.0]

tensors = [Tensor(), Tensor()]
owner = TrainedSet("SGD", None, None, Unclaimed())
kept = []
for one in tensors:
    kept.append(Variable(one, [1], read))
for variable in kept:
    owner.add(variable)
    variable.went(GRADIENTS, "all")
tensors[0].itself = tensors[0]  # stays until the interpreter collects its last garbage
del one, tensors[1]
print("dropped")
del tensors
"""


def test_nothing_is_read_once_the_interpreter_ends() -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_THE_END, str(ENTRYPOINTS)], capture_output=True, text=True
    )
    assert (done.stdout.split(), done.stderr) == (["read", "dropped"], "")


def test_shapes_that_are_seen_one_after_another_are_of_one_model(unclaimed: Unclaimed):
    """A record is sent at the first of them."""
    sets, owner = TrainedSets(unclaimed), Parameter()
    one = sets.begin("SGD", owner, lambda: 3)
    assert one is not None
    kept = [Parameter() for _ in range(3)]
    for parameter, elements in zip(kept, (20, 4, 2), strict=True):
        one.add(Variable(parameter, (elements,), lambda: numpy.ones(1)))
    for elements, exchanged in ((20, 1), (4, 2), (2, 3)):
        unclaimed.see([elements], "all")
        (entry,) = sets.record(weights=False, is_last=False)
        assert entry["exchanged"] == exchanged


def test_a_shape_that_is_seen_beside_a_model_that_is_exchanged_is_none_of_it(
    trained: TrainedSet, unclaimed: Unclaimed
):
    """Such as a metric that is as long as a bias."""
    sets = TrainedSets(unclaimed)
    sets._all.append(trained)
    bias = Parameter()
    trained.add(Variable(bias, (2,), lambda: numpy.ones(2)))
    unclaimed.see([2], "all")
    (entry,) = sets.record(weights=False, is_last=False)
    assert entry["exchanged"] == 2
