"""What is told of torch.distributed's exchanges, by a stand-in for its module.

Its real ranks are in tests/entrypoints/strategies and in test_real_ranks.py.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime.evidence.records import ALL, FP16
from launch_runtime.rank.exchange import process_groups
from launch_runtime.rank.exchange.process_groups import UNKNOWN_ELEMENTS, ProcessGroups
from launch_runtime.rank.exchange.seen import MANY
from launch_runtime.rank.exchange.torch_memory import (
    GATHERED,
    PART,
    TO_ANOTHER,
    TO_ME,
    WHOLE,
    Carried,
)

from tests.entrypoints.exchange.test_groups import OUTSIDE, Group

WORLD, PAIR = Group(0, 1, 2, 3), Group(1, 3)


class Told:
    """Collector and hooks in one: writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.broken, self.passes = False, 0
        self.steps, self.trained = 0, ["weight"]

    def sent(self) -> None:
        self.told.append(("sent",))

    def passed(self) -> None:
        self.passes += 1

    def carried(self, ranks: Any, elements: int, is_uncounted: bool) -> None:
        self.told.append(("carried", ranks, elements))

    def reduced(self, variables: list[Any], ranks: Any, ways: Any = ()) -> None:
        if variables:
            self.told.append(("reduced", variables, ranks, *ways))

    def exchanged(self, sent: list[Any], came: list[Any], ranks: Any, way: str) -> None:
        self.told.append(("exchanged", len(sent), len(came), ranks, way))

    def end(self) -> None:
        pass

    def give_up(self, error: Exception) -> None:
        self.told.append(("gave up", str(error)))
        self.broken = True

    def tracked(self, parameter: Any) -> Any:
        return SimpleNamespace(of=parameter)

    def look_at_compiled(self) -> None:
        self.told.append(("looked at compiled",))

    def parameters(self) -> list[Any]:
        return list(self.trained)

    def optimized(self) -> list[Any]:
        return []

    def seldom(self, optimizer: Any, is_seldom: bool) -> None:
        self.told.append(("seldom", is_seldom))

    def steps_of(self, optimizer: Any) -> int:
        return self.steps

    def most_steps(self) -> int:
        return self.steps


class Optimizer:
    """One that can be told from others."""


class Tensor:
    """One of so many elements."""

    def __init__(self, elements: int) -> None:
        self.elements = elements

    def numel(self) -> int:
        return self.elements

    def data_ptr(self) -> int:
        return id(self)


def distributed(size: int = 4) -> Any:
    """``torch.distributed.distributed_c10d`` of rank 1, with some of its functions."""
    module = SimpleNamespace(
        is_initialized=lambda: True,
        get_world_size=lambda: size,
        get_rank=lambda: 1,
        GroupMember=SimpleNamespace(NON_GROUP_MEMBER=OUTSIDE, WORLD=WORLD),
        get_process_group_ranks=lambda group: group.ranks[:size],
        _world=SimpleNamespace(pg_map={WORLD: 0, PAIR: 1}),
        all_reduce=lambda tensor, op=None, group=None: "reduced",
        all_gather=lambda tensor_list, tensor, group=None: "gathered",
        send=lambda tensor, dst, group=None: "sent",
        recv=lambda tensor, src=None, group=None: "received",
        broadcast=lambda tensor, src, group=None: "broadcast",
        barrier=lambda group=None: "met",
        init_process_group=lambda: "made",
        new_group=lambda: "new",
    )
    # As the real one's: by another function of the module, which is seen as well.
    module.reduce = lambda tensor, dst, group=None: module.all_reduce(tensor, None, group)
    return module


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def groups(told: Told, monkeypatch: pytest.MonkeyPatch) -> ProcessGroups:
    monkeypatch.setattr(process_groups, "untraced", lambda original, watched: watched)
    return ProcessGroups(told, told)  # type: ignore[arg-type]


@pytest.fixture
def module(groups: ProcessGroups) -> Any:
    found = distributed()
    groups.collectives(found)
    return found


def test_a_collective_is_told_with_its_tensors_and_ranks(module: Any, told: Told) -> None:
    small = Tensor(MANY - 1)
    assert module.all_reduce(small) == "reduced"
    assert module.all_reduce(small, group=PAIR) == "reduced"
    assert module.all_gather([Tensor(1), [Tensor(1), Tensor(1)]], small) == "gathered"
    assert told.told == [
        ("exchanged", 1, 1, ALL, WHOLE),
        ("exchanged", 1, 1, [1, 3], WHOLE),
        ("exchanged", 1, 3, ALL, GATHERED),
    ]


def test_one_that_calls_another_is_told_once(module: Any, told: Told) -> None:
    assert module.reduce(Tensor(1), 0) == "reduced"
    assert module.reduce(Tensor(1), 0) == "reduced"
    assert told.told == [("exchanged", 1, 1, ALL, WHOLE)] * 2


def test_of_a_group_without_this_process_nothing_is_told(module: Any, told: Told) -> None:
    for call in (module.all_reduce, module.broadcast, module.send):
        call(Tensor(MANY), 0, group=OUTSIDE)
    module.barrier(OUTSIDE)
    assert told.told == []


def carried(elements: int, ranks: Any, together: int = 0) -> Carried:
    """A tensor that nobody has claimed."""
    shape = SimpleNamespace(shape=(elements,))
    return Carried(shape, ranks, together=together or elements)


def test_how_much_of_nobody_a_group_carried_is_told_whenever_it_has_doubled(
    groups: ProcessGroups, told: Told
) -> None:
    for elements in (MANY - 1, MANY, MANY - 1, MANY, 2 * MANY, MANY):
        groups.carry(carried(elements, [1, 3]))
    assert told.told == [
        ("carried", [1, 3], MANY),
        ("carried", [1, 3], 2 * MANY),
        ("carried", [1, 3], 4 * MANY),
    ]
    groups.carry(carried(MANY, ALL))
    assert told.told[-1] == ("carried", ALL, MANY), "each group by itself"


def test_small_tensors_of_one_call_count_together(groups: ProcessGroups, told: Told) -> None:
    groups.carry(carried(2, ALL, together=MANY - 1))
    groups.carry(carried(2, ALL, together=MANY))
    assert told.told == [("carried", ALL, 2)]


def scatter(output: Any, input: Any, group: Any = None) -> str:  # noqa: A002  # as PyTorch's
    """Of each rank another part."""
    return "scattered"


@pytest.mark.parametrize(
    ("name", "given", "came", "way"),
    [
        ("reduce", (0,), 0, TO_ANOTHER),
        ("reduce", (1,), 0, TO_ME),
        ("reduce", (None,), 0, TO_ME),
        ("reduce_scatter_tensor", (), 1, PART),
        ("all_to_all_single", (), 1, PART),
    ],
)
def test_where_a_result_is_not_in_every_rank_that_is_told(
    groups: ProcessGroups, told: Told, name: str, given: tuple[Any, ...], came: int, way: str
) -> None:
    module = distributed()
    module.reduce = lambda tensor, dst=None, group=None: "reduced"
    module.reduce_scatter_tensor = scatter
    module.all_to_all_single = scatter
    groups.collectives(module)
    tensors = [Tensor(1)] * (1 if name == "reduce" else 2)
    getattr(module, name)(*tensors, *given)
    assert told.told == [("exchanged", 1, came, ALL, way)]


@pytest.mark.parametrize(
    ("size", "other", "ranks"), [(4, 3, [1, 3]), (4, 0, [0, 1]), (2, 0, ALL), (4, 1, None)]
)
def test_what_goes_to_one_rank_is_carried_by_the_two(
    groups: ProcessGroups, told: Told, size: int, other: int, ranks: Any
) -> None:
    module = distributed(size)
    groups.collectives(module)
    assert module.send(Tensor(MANY), other) == "sent"
    carried = [("carried", ranks, MANY)] if ranks else []
    assert told.told == [("sent",), *carried]


def test_from_any_rank_nothing_is_known(module: Any, told: Told) -> None:
    assert module.recv(Tensor(MANY)) == "received"
    assert told.told == []


def test_a_broadcast_is_sent_and_a_barrier_carries_nothing(module: Any, told: Told) -> None:
    assert (module.broadcast(Tensor(MANY), 0), module.barrier()) == ("broadcast", "met")
    assert told.told == [("sent",)]


def test_what_cannot_be_read_ends_the_evidence_and_not_the_script(
    module: Any, groups: ProcessGroups, told: Told
) -> None:
    module.get_process_group_ranks = lambda group: 1 // 0
    for _ in range(2):
        assert module.all_reduce(Tensor(1)) == "reduced"
    assert told.told == [("gave up", "integer division or modulo by zero")]


def test_a_group_that_is_made_says_its_own_ranks_though_it_has_anothers_number(
    module: Any, groups: ProcessGroups
) -> None:
    gone = Group(1, 2)
    groups._groups._calls[id(gone)] = 5
    assert (module.init_process_group(), module.new_group()) == ("made", "new")
    assert groups._groups.total_of(gone) == 0
    assert set(groups._groups.born) == {id(WORLD), id(PAIR)}


def hidden_after(groups: ProcessGroups, told: Told, steps: int, collectives: int) -> list[Any]:
    """What the last look tells where so many collectives went over the pair that no call of
    Python made, in so many steps."""
    groups._groups.module = distributed()
    WORLD.sequence, PAIR.sequence = 3, 5
    groups._groups.forget_gone()
    groups.look(Optimizer(), [], 1)
    PAIR.sequence = 5 + collectives
    told.steps = steps
    groups.last_look()
    assert told.told.pop(0) == ("looked at compiled",)
    return told.told


@pytest.mark.parametrize(
    ("steps", "collectives", "is_told"),
    [
        (1, 0, False),
        (1, 1, True),
        (7, 2, False),
        (7, 3, True),
        (3, 1, True),
        (4, 1, False),
        (2, 0, False),
    ],
)
def test_what_no_call_made_is_told_where_it_went_at_every_second_step(
    groups: ProcessGroups, told: Told, steps: int, collectives: int, is_told: bool
) -> None:
    found = hidden_after(groups, told, steps, collectives)
    assert found == ([("carried", [1, 3], UNKNOWN_ELEMENTS)] if is_told else [])


def test_without_a_step_nothing_is_told_of_what_no_call_made(
    groups: ProcessGroups, told: Told
) -> None:
    assert hidden_after(groups, told, steps=0, collectives=9) == []


def test_where_there_are_no_groups_nothing_is_looked_at(groups: ProcessGroups, told: Told) -> None:
    groups.look(Optimizer(), [], 1)
    groups.last_look()
    assert told.told == []


def test_a_wrapped_model_says_what_went_over_its_groups(
    groups: ProcessGroups, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups._groups.module = distributed()
    trained = [("weight", [ALL, [1, 3]], True, {FP16})]
    monkeypatch.setattr(groups.models, "trained", lambda parameters, since: trained)
    monkeypatch.setattr(groups.models, "wrapped", lambda parameters, group=None: ["weight"])
    variables = []
    monkeypatch.setattr(
        told, "tracked", lambda one: variables.append(SimpleNamespace(of=one)) or variables[-1]
    )
    groups.look(Optimizer(), ["weight"], 1)

    first, second = variables
    assert told.told == [("reduced", [first], ALL, FP16), ("reduced", [first], [1, 3], FP16)]
    assert (first.is_whole, second.is_past) == (True, True)


class Parameter:
    """One that can be told from others."""


def wrapped(groups: ProcessGroups, monkeypatch: pytest.MonkeyPatch) -> None:
    """A DDP over the pair, of which no pass was counted."""
    groups._groups.module = distributed()
    PAIR.sequence = 5
    groups._groups.forget_gone()
    monkeypatch.setattr(groups.models, "groups_of", lambda parameters: [PAIR])
    monkeypatch.setattr(groups.models, "wrapped", lambda found, group=PAIR: found[: group is PAIR])


@pytest.mark.parametrize(
    ("steps", "collectives", "said"),
    [
        (3, 0, []),
        (4, 0, [("seldom", True)]),
        (4, 1, [("seldom", True)]),
        (4, 2, [("seldom", False)]),
        (16, 7, [("seldom", True)]),
        (16, 8, [("seldom", False)]),
    ],
)
def test_whether_at_most_steps_nothing_went_over_the_group_of_a_wrapped_model_is_told(
    groups: ProcessGroups,
    told: Told,
    monkeypatch: pytest.MonkeyPatch,
    steps: int,
    collectives: int,
    said: list[Any],
) -> None:
    wrapped(groups, monkeypatch)
    groups.look(Optimizer(), [], 1)
    PAIR.sequence = 5 + collectives
    groups.look(Optimizer(), [], steps)
    assert told.told == said


def test_of_a_group_that_does_not_count_nothing_is_said_to_be_seldom(
    groups: ProcessGroups, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapped(groups, monkeypatch)
    monkeypatch.setattr(PAIR, "_get_sequence_number_for_group", lambda: 1 // 0)
    groups.look(Optimizer(), [], 1)
    groups.look(Optimizer(), [], 4)
    assert told.told == [("seldom", False)]


@pytest.mark.parametrize(("collectives", "is_told"), [(3, True), (1, False)])
def test_what_no_call_made_is_told_of_an_optimizer_that_the_script_has_dropped(
    groups: ProcessGroups,
    told: Told,
    monkeypatch: pytest.MonkeyPatch,
    collectives: int,
    is_told: bool,
) -> None:
    """A function that trains a compiled DDP, and returns."""
    wrapped(groups, monkeypatch)
    monkeypatch.setattr(groups.models, "groups_of", lambda parameters: [])
    variable = SimpleNamespace(is_whole=True)
    monkeypatch.setattr(told, "tracked", lambda one: variable)
    optimizer, told.trained = Optimizer(), []
    groups.look(optimizer, [Parameter()], 1)
    PAIR.sequence = 5 + collectives
    groups.look(optimizer, [Parameter()], 4)
    groups.last_look()
    assert ("reduced", [variable], [1, 3]) not in told.told, "it is there, and asked itself"
    del optimizer
    groups.last_look()
    assert (("reduced", [variable], [1, 3]) in told.told) is is_told
