"""How the hooks follow PyTorch's parameters, by stand-ins for its tensors and optimizers."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from launch_runtime.evidence.records import ALL
from launch_runtime.rank.exchange import (
    fingerprints,
    horovod_torch_hooks,
    torch_hooks,
    torch_parameters,
    torch_sent,
    torch_tensors,
)
from launch_runtime.rank.exchange.seen import Unclaimed
from launch_runtime.rank.exchange.torch_hooks import Hooks
from launch_runtime.rank.exchange.torch_memory import PART, TO_ANOTHER, TO_ME, WHOLE
from launch_runtime.rank.exchange.trained_set import TrainedSet
from launch_runtime.rank.exchange.variables import GRADIENTS, Variable, Variables

PAIR = [0, 1]


class Collector:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.variables = Variables()
        self.assigned_ones: list[Variable] = []
        self.reduced_ones: list[tuple[list[Variable], Any]] = []
        self.values: list[Variable | None] = []  # of the tensors that were exchanged
        self.unfollowed_ones: list[tuple[int, Any]] = []  # steps, gradients with their variables
        self.followed_ones: list[tuple[int, Any, str]] = []
        self.what = ""
        self.nobodys_ones: list[tuple[tuple[int, ...], Any]] = []  # shapes and groups
        self.read: Callable[[Any], Any] = lambda gradient: None
        self.pairs: list[tuple[Any, Variable]] = []  # of the step that was told last
        self.steps: Callable[[], int] = lambda: 0
        self.count = 0  # of steps that were told

    def assigned(self, variable: Variable) -> None:
        self.assigned_ones.append(variable)

    def reduced(self, variables: list[Variable], group: Any) -> None:
        self.reduced_ones.append((variables, group))

    def exchanged(self, tensor: Any, shape: Sequence[int], group: Any, value: Any) -> None:
        self.values.append(value)

    def unfollowed(
        self, owner: Any, step: int, gradients: Any, read: Callable[[Any], Any], what: str
    ) -> None:
        self.unfollowed_ones.append((step, gradients))
        self.read, self.what = read, what

    def followed(
        self, owner: Any, step: int, gradients: Any, read: Callable[[Any], Any], what: str = ""
    ) -> None:
        self.followed_ones.append((step, gradients, what))

    def nobodys(self, shape: tuple[int, ...], group: Any) -> None:
        self.nobodys_ones.append((shape, group))

    def stepped(self) -> None:
        pass

    def took(self, owner: Any, variables: list[Any]) -> None:
        pass

    def applied(
        self, owner: Any, name: str, pairs: Any, steps: Callable[[], int], ways: Any, reduces: bool
    ) -> None:
        self.pairs, self.steps, self.count = pairs, steps, self.count + 1

    def sent(self) -> None:
        self.values.append(None)

    def before_last_word(self, look: Callable[[], None]) -> None:
        pass

    def joined(self) -> None:
        pass

    def is_inside(self, what: str) -> bool:
        return False

    def within(self, what: str) -> Any:
        return pytest.MonkeyPatch.context()

    def give_up(self, error: Exception) -> None:
        raise error


class Tensor:
    """One of PyTorch's, as far as it is asked, around NumPy's array."""

    def __init__(self, values: Iterable[Any], place: int = 64) -> None:
        self.values, self.place = numpy.array(values), place
        self.grad: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def data_ptr(self) -> int:
        return self.place

    def detach(self) -> Tensor:
        return self._with(self.values)

    def is_floating_point(self) -> bool:
        return self.values.dtype.kind == "f"

    def reshape(self, size: int) -> Tensor:
        if size < -1:
            raise RuntimeError(f"invalid shape dimension {size}")
        return self._with(self.values.reshape(size))

    def __getitem__(self, part: slice) -> Tensor:
        return self._with(self.values[part])

    def float(self) -> Tensor:
        return self._with(self.values.astype(numpy.float32))

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> Any:
        return self.values

    def _with(self, values: Any) -> Tensor:
        other = Tensor((), self.place)
        other.values = values
        return other


class Sparse:
    """A gradient without a place in memory."""

    is_sparse = True
    shape = (4,)

    def data_ptr(self) -> int:
        raise RuntimeError("a sparse tensor has no storage")


def dtensor(part: Tensor, *sharded: bool) -> Any:
    """One of which this rank holds ``part``."""
    whole = Tensor(numpy.zeros(100), place=-1)
    vars(whole)["_local_tensor"] = part
    vars(whole)["placements"] = [SimpleNamespace(is_shard=lambda one=one: one) for one in sharded]
    return whole


@pytest.fixture
def collector() -> Collector:
    return Collector()


@pytest.fixture
def hooks(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> Hooks:
    monkeypatch.setattr(torch_hooks, "untraced", lambda original, watched: watched)
    return Hooks(collector)  # type: ignore[arg-type]


@pytest.fixture
def optimizer_of(hooks: Hooks) -> Callable[..., Any]:
    """Makes an optimizer of the parameters that it is given."""
    return optimizer_class(hooks.optimizers)


def optimizer_class(watch: Callable[[Any], None]) -> Callable[..., Any]:
    class Optimizer:
        def __init__(self, *parameters: Any) -> None:
            self.param_groups = [{"params": [one]} for one in parameters]

        def step(self) -> None:
            pass

    class SGD(Optimizer):
        def step(self) -> None:
            super().step()

    watch(SimpleNamespace(Optimizer=Optimizer))
    return SGD


def parameter(*values: float, place: int = 64, gradient: Any = None) -> Tensor:
    made = Tensor(values, place)
    made.grad = gradient
    return made


def print_of(*values: float) -> bytes:
    return fingerprints.of(numpy.array(values, "float32"))


def read(variable: Variable) -> bytes | None:
    variable.look()
    return variable.print


# -- tracked ---------------------------------------------------------------------------------------


def test_a_parameter_is_followed_as_one_variable_that_a_script_may_change_unseen(
    hooks: Hooks,
) -> None:
    one = Tensor([[1.0, 2.0, 3.0]])
    variable = hooks.tracked(one)

    assert (variable.shape, variable.elements) == ((1, 3), 3)
    assert (variable.is_blind, variable.is_whole) == (True, True)
    assert hooks.tracked(one) is variable
    assert hooks.tracked(Tensor([[1.0, 2.0, 3.0]])) is not variable


def test_a_parameter_is_read_as_it_is_at_that_moment(hooks: Hooks) -> None:
    one = Tensor([[1.0, 2.0], [3.0, 4.0]])
    variable = hooks.tracked(one)
    assert read(variable) == print_of(1, 2, 3, 4)

    one.values = numpy.array([[5.0, 6.0], [7.0, 8.0]])
    assert read(variable) == print_of(5, 6, 7, 8)


def test_of_a_large_parameter_the_first_values_are_read(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch_tensors, "MOST_VALUES", 3)
    one = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert read(hooks.tracked(one)) == print_of(1, 2, 3)


def test_a_parameter_without_real_numbers_is_not_read(hooks: Hooks) -> None:
    whole_numbers = Tensor([1, 2, 3])
    assert read(hooks.tracked(whole_numbers)) is None


def exchanged_by_an_optimizer(variable: Variable) -> TrainedSet:
    owner = TrainedSet("SGD", None, None, Unclaimed())
    owner.add(variable)
    variable.went(GRADIENTS, ALL)
    return owner


def test_a_parameter_that_the_script_drops_keeps_its_last_values(hooks: Hooks) -> None:
    one = parameter(1.0, 2.0)
    variable = hooks.tracked(one)
    owner = exchanged_by_an_optimizer(variable)
    one.values += 1.0

    del one

    assert owner.variables == [variable]
    assert variable.print == print_of(2, 3)


def test_a_parameter_that_was_moved_and_dropped_keeps_the_values_of_its_new_storage(
    hooks: Hooks,
) -> None:
    one = parameter(1.0, 2.0)
    exchanged_by_an_optimizer(hooks.tracked(one))
    one.values = numpy.array([3.0, 4.0])
    variable = hooks.tracked(one)

    del one

    assert variable.print == print_of(3, 4)


def test_the_storage_of_a_dropped_parameter_is_let_go(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    storages: list[weakref.ref[Tensor]] = []

    def detach(tensor: Tensor) -> Tensor:
        storage = tensor._with(tensor.values)
        storages.append(weakref.ref(storage))
        return storage

    monkeypatch.setattr(Tensor, "detach", detach)
    one = parameter(1.0)
    variable = hooks.tracked(one)
    assert storages[0]() is not None

    del one

    assert variable.is_dropped
    assert [storage() for storage in storages] == [None]


@pytest.mark.parametrize(("sharded", "is_whole"), [((True,), False), ((False,), True)])
def test_of_a_dtensor_this_ranks_part_is_followed(
    hooks: Hooks, collector: Collector, sharded: tuple[bool, ...], is_whole: bool
) -> None:
    part = parameter(1.0, 2.0, place=128)
    whole = dtensor(part, *sharded)
    variable = hooks.tracked(whole)

    assert (variable.shape, variable.is_whole) == ((2,), is_whole)
    assert read(variable) == print_of(1, 2)
    hooks.exchanged([part], [], ALL)
    assert collector.values == [variable]


# -- exchanged -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "is_its_value"),
    [
        (parameter(5.0, 6.0, place=64), True),
        (parameter(5.0, 6.0, place=128), False),
        (parameter(5.0, place=64), False),
        (parameter(5.0, 6.0, 7.0, place=64), False),
        (Sparse(), False),
    ],
    ids=["the same place and shape", "elsewhere", "shorter", "longer", "sparse"],
)
def test_what_lies_in_a_parameters_place_with_its_shape_is_its_value(
    hooks: Hooks, collector: Collector, sent: Any, is_its_value: bool
) -> None:
    one = parameter(1.0, 2.0, place=64)
    variable = hooks.tracked(one)
    hooks.exchanged([sent], [], ALL)
    assert collector.values == [variable if is_its_value else None]


def test_what_lies_where_a_dropped_parameter_was_is_not_its_value(
    hooks: Hooks, collector: Collector
) -> None:
    one = parameter(1.0, 2.0)
    variable = hooks.tracked(one)
    del one
    hooks.exchanged([parameter(1.0, 2.0)], [], ALL)
    assert variable.is_dropped
    assert collector.values == [None]


def test_what_lies_where_a_parameter_was_before_it_moved_is_not_its_value(
    hooks: Hooks, collector: Collector
) -> None:
    one = parameter(1.0, 2.0, place=64)
    hooks.tracked(one)
    one.place = 128
    hooks.exchanged([parameter(1.0, 2.0, place=64)], [], ALL)
    assert collector.values == [None]


def test_a_parameter_that_was_given_what_an_exchange_left_was_exchanged(
    hooks: Hooks, collector: Collector, optimizer_of: Callable[..., Any]
) -> None:
    one, other = parameter(1.0, 2.0, place=64, gradient=parameter(0.0)), parameter(3.0, place=128)
    optimizer = optimizer_of(one, other)
    variable = hooks.tracked(one)
    averaged = parameter(5.0, 6.0, place=192)
    hooks.exchanged([averaged], [averaged], ALL)
    one.place = 192
    hooks.look_at_values([one, other])
    assert collector.values == [None, variable]

    optimizer.step()  # looks, too, and forgets what was left before it
    assert collector.values == [None, variable, variable]
    hooks.look_at_values([one])
    assert len(collector.values) == 3


def test_a_result_keeps_its_place_until_the_next_step_and_only_its_shape_is_a_parameters(
    hooks: Hooks, collector: Collector, optimizer_of: Callable[..., Any]
) -> None:
    one = parameter(1.0, 2.0, place=64, gradient=parameter(0.0))
    optimizer = optimizer_of(one)
    hooks.tracked(one)
    like, longer, empty = (parameter(*values) for values in ((5.0, 6.0), (5.0, 6.0, 7.0), ()))
    like.place, longer.place, empty.place = 128, 192, 0
    held = weakref.ref(like.values)
    hooks.exchanged([], [like, longer, Sparse(), empty], ALL)
    del like
    assert held() is not None  # so that no other tensor lies there
    for place in (192, 0):
        one.place = place
        hooks.look_at_values([one])
    assert collector.values == []
    optimizer.step()
    assert held() is None


def test_no_more_places_of_parameters_are_kept_than_there_is_room_for(
    hooks: Hooks, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch_parameters, "MOST", 2)
    several = [parameter(1.0, place=place) for place in (64, 128, 192)]
    first, second, _ = [hooks.tracked(one) for one in several]
    hooks.exchanged(several, [], ALL)
    assert collector.values == [first, second, None]


# -- steps -----------------------------------------------------------------------------------------


def test_a_step_is_told_with_the_parameters_that_have_gradients(
    hooks: Hooks, collector: Collector, optimizer_of: Callable[..., Any]
) -> None:
    looked: list[tuple[list[Any], int]] = []
    hooks.at_step = lambda optimizer, parameters, count: looked.append((list(parameters), count))
    frozen, trained = parameter(1.0), parameter(2.0, gradient=Tensor([0.5], place=128))
    optimizer = optimizer_of(frozen, trained)

    optimizer.step()

    assert looked == [([trained], 1)]
    assert collector.pairs == [(trained.grad, hooks.tracked(trained))]
    assert hooks.parameters() == [trained]


def test_a_step_without_gradients_is_counted_and_not_told(
    hooks: Hooks, collector: Collector, optimizer_of: Callable[..., Any]
) -> None:
    looked: list[Any] = []
    hooks.at_step = lambda optimizer, parameters, count: looked.append(parameters)
    optimizer = optimizer_of(parameter(1.0))

    optimizer.step()

    assert (looked, collector.count, hooks.most_steps()) == ([], 0, 1)
    assert hooks.parameters() == []


def test_who_is_told_of_a_step_can_ask_for_the_number_of_later_ones(
    collector: Collector, optimizer_of: Callable[..., Any]
) -> None:
    optimizer = optimizer_of(parameter(1.0, gradient=Tensor([0.5])))
    for _ in range(7):
        optimizer.step()
    assert (collector.count, collector.steps()) == (4, 7)


def test_without_an_optimizer_there_are_no_steps(hooks: Hooks) -> None:
    assert hooks.most_steps() == 0


def test_a_step_is_seen_once_however_many_optimizers_of_its_class_there_are(
    collector: Collector, optimizer_of: Callable[..., Any]
) -> None:
    """The step of torch's own base class does nothing, and is none."""
    first, _ = (optimizer_of(parameter(1.0, gradient=Tensor([0.5]))) for _ in range(2))
    first.step()
    assert (collector.count, collector.steps()) == (1, 1)


@pytest.mark.parametrize(
    ("came", "gradient", "is_reduced"),
    [
        (Tensor([1.0], place=128), Tensor([1.0], place=128), True),
        (Tensor([1.0], place=128), Tensor([1.0], place=192), False),
        (Sparse(), Sparse(), True),
        (Sparse(), Tensor([1.0], place=128), False),
        (None, Tensor([1.0], place=128), False),
    ],
    ids=["in its place", "elsewhere", "sparse", "sparse, and not", "no tensor"],
)
def test_a_gradient_where_an_exchange_left_its_result_was_reduced(
    hooks: Hooks,
    collector: Collector,
    optimizer_of: Callable[..., Any],
    came: Any,
    gradient: Any,
    is_reduced: bool,
) -> None:
    one = parameter(1.0, gradient=gradient)
    optimizer = optimizer_of(one)
    hooks.exchanged([], [came], PAIR)

    optimizer.step()
    assert collector.reduced_ones == ([([hooks.tracked(one)], PAIR)] if is_reduced else [])

    optimizer.step()
    assert len(collector.reduced_ones) == is_reduced, "a result is that of one step"


@pytest.mark.parametrize("gradients_are", ["given", "made"])
def test_an_operation_of_horovods_reduces_what_it_gives_and_not_what_it_is_given(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, gradients_are: str
) -> None:
    monkeypatch.setattr(torch_hooks, "untraced", lambda original, watched: watched)
    watch = horovod_torch_hooks.table(collector)  # type: ignore[arg-type]
    module: Any = SimpleNamespace(_allreduce_async=lambda tensor, output: "handle")
    watch["horovod.torch.mpi_ops"](module)
    given, made = Tensor([1.0], place=128), Tensor([1.0], place=192)
    one = parameter(1.0, gradient={"given": given, "made": made}[gradients_are])
    optimizer = optimizer_class(watch["torch.optim.optimizer"])(one)

    assert module._allreduce_async(given, made) == "handle"
    optimizer.step()

    is_made = gradients_are == "made"
    assert [group for _, group in collector.reduced_ones] == [ALL] * is_made
    (variable,) = (variable for _, variable in collector.pairs)
    assert collector.unfollowed_ones == ([] if is_made else [(1, [(given, variable, ALL)])])


def test_a_gradient_that_went_out_is_read_in_its_type_and_not_whole(
    hooks: Hooks,
    collector: Collector,
    optimizer_of: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent, whole = Tensor([0.5, 1.5, 2.5], place=128), Tensor([1], place=192)
    optimizer = optimizer_of(parameter(1.0, gradient=sent), parameter(1.0, gradient=whole))
    hooks.exchanged([sent, whole], [], PAIR)
    optimizer.step()

    assert [[one[0] for one in gradients] for _, gradients in collector.unfollowed_ones] == [
        [sent, whole]
    ]
    assert collector.read(sent).tolist() == [0.5, 1.5, 2.5]
    with pytest.raises(ValueError, match="no real numbers"):
        collector.read(whole)


@pytest.mark.parametrize(
    ("cuda", "is_read"),
    [
        (SimpleNamespace(is_initialized=lambda: True), True),
        (SimpleNamespace(is_initialized=lambda: False, is_current_stream_capturing=None), True),
        (
            SimpleNamespace(is_initialized=lambda: True, is_current_stream_capturing=lambda: False),
            True,
        ),
        (
            SimpleNamespace(is_initialized=lambda: True, is_current_stream_capturing=lambda: True),
            False,
        ),
    ],
    ids=["an old PyTorch", "no GPU", "no graph", "a graph"],
)
def test_while_a_cuda_graph_is_made_no_gradient_is_read(
    hooks: Hooks,
    collector: Collector,
    optimizer_of: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    cuda: SimpleNamespace,
    is_read: bool,
) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    sent = Tensor([0.5], place=128)
    optimizer = optimizer_of(parameter(1.0, gradient=sent))
    hooks.exchanged([sent], [], PAIR)
    optimizer.step()
    assert len(collector.unfollowed_ones) == is_read


def test_what_went_out_is_known_for_one_step_and_by_its_place_alone(
    hooks: Hooks,
    collector: Collector,
    optimizer_of: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    optimizer = optimizer_of(
        parameter(1.0, gradient=Tensor([0.5], place=128)), parameter(1.0, gradient=Sparse())
    )
    hooks.exchanged([Tensor([0.5], place=192), Sparse()], [], PAIR)
    optimizer.step()
    hooks.exchanged([Tensor([0.5], place=128)], [], PAIR)
    optimizer.step()
    optimizer.step()
    assert [step for step, _ in collector.unfollowed_ones] == [2]

    monkeypatch.setattr(torch_sent, "MOST", 1)
    hooks.exchanged([Tensor([0.5], place=192), Tensor([0.5], place=128)], [], PAIR)
    optimizer.step()
    assert [step for step, _ in collector.unfollowed_ones] == [2]


def test_no_more_results_of_exchanges_are_kept_than_there_is_room_for(
    hooks: Hooks,
    collector: Collector,
    optimizer_of: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch_sent, "MOST", 2)
    gradients = [Tensor([1.0], place=place) for place in (128, 192, 256)]
    several = [parameter(1.0, gradient=gradient) for gradient in gradients]
    hooks.exchanged([], gradients, ALL)

    optimizer_of(*several).step()

    first, second, _ = [hooks.tracked(one) for one in several]
    assert collector.reduced_ones == [([first], ALL), ([second], ALL)]


@pytest.mark.parametrize(
    ("way", "is_whole", "followed"),
    [(WHOLE, True, [(1, "")]), (PART, False, [])],
    ids=["the same in all ranks", "another part in each"],
)
def test_results_that_are_the_same_in_all_ranks_are_compared(
    hooks: Hooks,
    collector: Collector,
    optimizer_of: Callable[..., Any],
    way: str,
    is_whole: bool,
    followed: list[Any],
) -> None:
    gradient = Tensor([0.5], place=128)
    one = parameter(1.0, gradient=gradient)
    optimizer = optimizer_of(one)
    hooks.exchanged([gradient], [gradient], ALL, way)
    optimizer.step()
    assert [(step, what) for step, _, what in collector.followed_ones] == followed
    assert hooks.tracked(one).is_whole is is_whole
    assert collector.nobodys_ones == []


@pytest.mark.parametrize(
    ("ways", "what"), [((TO_ME, TO_ME), "own"), ((TO_ME, TO_ANOTHER), ""), ((WHOLE,), "")]
)
def test_sums_that_are_in_this_rank_alone_are_told_as_its_own(
    hooks: Hooks,
    collector: Collector,
    optimizer_of: Callable[..., Any],
    ways: tuple[str, ...],
    what: str,
) -> None:
    gradients = [Tensor([0.5], place=128 * (number + 1)) for number, _ in enumerate(ways)]
    optimizer = optimizer_of(*(parameter(1.0, gradient=gradient) for gradient in gradients))
    for gradient, way in zip(gradients, ways, strict=True):
        hooks.exchanged([gradient], [], ALL, way)
    optimizer.step()
    assert (len(collector.unfollowed_ones), collector.what) == (1, what)


def test_copies_of_gradients_are_compared_too_and_are_nobodys(
    hooks: Hooks, collector: Collector, optimizer_of: Callable[..., Any]
) -> None:
    one = parameter(1.0, 2.0, gradient=Tensor([0.5, 0.5], place=128))
    optimizer = optimizer_of(one)
    hooks.exchanged([Tensor([0.5, 0.5], place=192)], [], ALL)
    optimizer.step()
    ((step, ((gradient, variable, group),), what),) = collector.followed_ones
    assert (step, gradient, variable, group) == (1, one.grad, hooks.tracked(one), ALL)
    assert what == "like"
    assert collector.nobodys_ones == [((2,), ALL)]


def test_a_group_that_is_news_is_told_at_whatever_step_it_comes(
    hooks: Hooks, collector: Collector, optimizer_of: Callable[..., Any]
) -> None:
    """Between hosts, every fifth step."""
    gradient = Tensor([0.5], place=128)
    one = parameter(1.0, gradient=gradient)
    optimizer = optimizer_of(one)
    seen = []
    for step in range(1, 11):
        if step % 5 == 0:
            hooks.exchanged([gradient], [gradient], PAIR)
        before = len(collector.reduced_ones)
        optimizer.step()
        if len(collector.reduced_ones) > before:
            seen.append(step)
            hooks.tracked(one).went(GRADIENTS, PAIR)
    assert seen == [5]


# -- what changes parameters otherwise -------------------------------------------------------------


def test_a_loaded_state_assigns_the_parameters_that_were_trained(
    hooks: Hooks, collector: Collector
) -> None:
    order: list[str] = []

    class Module:
        def __init__(self, *parameters: Tensor) -> None:
            self._parameters = parameters

        def parameters(self) -> tuple[Tensor, ...]:
            return self._parameters

        def load_state_dict(self, state: Any, strict: bool = True) -> Any:
            order.append(f"loaded behind {len(collector.assigned_ones)}")
            return state, strict

    hooks.modules(SimpleNamespace(Module=Module))
    new, first, second = parameter(1.0), parameter(2.0), parameter(3.0)
    variables = [hooks.tracked(one) for one in (first, second)]

    assert Module(new, first, second).load_state_dict({"a": 1}, strict=False) == ({"a": 1}, False)
    assert collector.assigned_ones == variables
    assert order == ["loaded behind 2"]


def test_parameters_are_those_of_optimizers_that_have_stepped(
    hooks: Hooks, optimizer_of: Callable[..., Any]
) -> None:
    first, second, other = (parameter(1.0, gradient=Tensor([0.5])) for _ in range(3))
    idle, one, another = optimizer_of(other), optimizer_of(first), optimizer_of(second)
    one.step()
    another.step()

    assert idle is not None
    assert {id(one) for one in hooks.parameters()} == {id(first), id(second)}


def test_changes_count_since_the_optimizer_was_made_and_by_all_its_parameters(
    hooks: Hooks, collector: Collector, optimizer_of: Callable[..., Any]
) -> None:
    """Those of an optimizer whose own steps are compiled."""
    looked: list[int] = []
    hooks.at_step = lambda optimizer, parameters, count: looked.append(count)
    first, second = (parameter(1.0, gradient=Tensor([0.5])) for _ in range(2))
    vars(first)["_version"], vars(second)["_version"] = 7, 3
    optimizer = optimizer_of(first, second)
    hooks.look_at_compiled()
    assert (collector.count, hooks.most_steps()) == (0, 0)

    vars(second)["_version"] += 1
    hooks.look_at_compiled()
    hooks.look_at_compiled()

    assert optimizer is not None
    assert (collector.count, collector.steps(), hooks.most_steps()) == (1, 1, 1)
    assert looked == [1]
