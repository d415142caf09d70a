"""What torch.distributed exchanges, and over which of its process groups.

Three things are seen. Calls of its collectives pass here: whose tensors they carry is known by
their place in memory, else how much they carry. What wraps a model (DDP, FSDP) says itself
whether it was called. And a group counts its collectives (the sequence number), those too that no
call of Python makes: DDP's buckets, functional collectives of compiled code and of DTensor. The
number is read before the group is destroyed; it may begin anywhere, so differences count.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Mapping, Sequence

from launch_runtime.evidence.records import ALL
from launch_runtime.rank.exchange.groups import Groups
from launch_runtime.rank.exchange.horovod_hooks import argument, parameters_of
from launch_runtime.rank.exchange.seen import MANY
from launch_runtime.rank.exchange.torch_hooks import Hooks
from launch_runtime.rank.exchange.torch_memory import (
    GATHERED,
    PART,
    TO_ANOTHER,
    TO_ME,
    WHOLE,
    Carried,
)
from launch_runtime.rank.exchange.unseen_passes import UnseenPasses
from launch_runtime.rank.exchange.untraced import untraced
from launch_runtime.rank.exchange.wrapped_models import NO_PASSES, Passes, WrappedModels
from launch_runtime.rank.import_hook import OnImport

if TYPE_CHECKING:
    from launch_runtime.rank.exchange.collector import Collector

# Function of torch.distributed -> the parameters that go out, and those that come in. Names as in
# 1.10 to 2.9; a version has some of them.
_COLLECTIVES = {
    "all_reduce": ("tensor", "tensor"),
    "all_reduce_coalesced": ("tensors", "tensors"),
    "reduce": ("tensor", "tensor"),
    "all_gather": ("tensor", "tensor_list"),
    "all_gather_into_tensor": ("input_tensor", "output_tensor"),
    "_all_gather_base": ("input_tensor", "output_tensor"),
    "all_gather_coalesced": ("input_tensor_list", ""),
    "gather": ("tensor", "gather_list"),
    "reduce_scatter": ("input_list", "output"),
    "reduce_scatter_tensor": ("input", "output"),
    "_reduce_scatter_base": ("input", "output"),
    "all_to_all": ("input_tensor_list", "output_tensor_list"),
    "all_to_all_single": ("input", "output"),
}
_TO_THE_RANK = "reduce"  # whose result is in one rank alone
_GATHERING = ("all_gather", "_all_gather", "gather")
_IN_PARTS = ("reduce_scatter", "_reduce_scatter", "all_to_all")  # another part in each
_TO_ONE = {"send": "dst", "isend": "dst", "recv": "src", "irecv": "src"}
_NOTHING = "barrier"
_FROM_ONE = ("broadcast", "scatter", _NOTHING)
_MANY_STEPS = 4  # before, nothing can be said of most of them
UNKNOWN_ELEMENTS = 1 << 50  # of collectives that only a sequence number tells of


def table(collector: Collector) -> Mapping[str, OnImport]:
    """Module -> what is to be done with it once it is there."""
    hooks = Hooks(collector)
    groups = ProcessGroups(collector, hooks)
    hooks.at_step, hooks.at_nobodys = groups.look, groups.carry
    hooks.after_step = groups.models.stepped
    collector.before_last_word(groups.last_look)
    return {
        "torch.optim.optimizer": hooks.optimizers,
        "torch.nn.modules.module": hooks.modules,
        "torch.distributed.distributed_c10d": groups.collectives,
        "torch.nn.parallel.distributed": groups.models.data_parallel,
        "torch.distributed.fsdp.fully_sharded_data_parallel": groups.models.sharded,
        "deepspeed.runtime.zero.stage_1_and_2": groups.models.partitioned,
        "deepspeed.runtime.zero.stage3": groups.models.partitioned,
    }


class ProcessGroups:
    """What goes over the process groups of this process.

    Args:
        collector: Is told.
        hooks: Of the optimizers.
    """

    def __init__(self, collector: Collector, hooks: Hooks):
        self._collector, self._hooks = collector, hooks
        self._groups = Groups()
        self._carried: dict[Any, list[int]] = {}  # ranks -> elements, and those told of
        self._leaves = 0
        self.models = WrappedModels(self._groups.ranks_of, self._groups.total_of)
        self._unseen = UnseenPasses(self._groups, self.models, hooks)
        # What a DDP sends while it is made is no training.
        self.models.on_wrapped = self._groups.begin_again

    # -- hooks -----------------------------------------------------------------------------------

    def collectives(self, module: Any) -> None:
        """``torch.distributed.distributed_c10d``."""
        self._groups.module = module
        for name, (given, arriving) in _COLLECTIVES.items():
            if hasattr(module, name):
                self._wrap_collective(module, name, given, arriving)
        for name, peer in _TO_ONE.items():
            if hasattr(module, name):
                self._wrap_to_one(module, name, peer)
        for name in _FROM_ONE:
            if hasattr(module, name):
                self._wrap_from_one(module, name)
        for name in ("init_process_group", "new_group"):
            self._forget_after(module, name)

    def _wrap_collective(self, module: Any, name: str, given: str, arriving: str) -> None:
        original = getattr(module, name)
        parameters = parameters_of(original)

        def note(args: Any, kwargs: Any) -> None:
            group = self._groups.member(argument("group", parameters, args, kwargs))
            if group is None:
                return
            sent = _tensors(argument(given, parameters, args, kwargs))
            came = _tensors(argument(arriving, parameters, args, kwargs))
            ranks, way = self._groups.called(group), WHOLE
            if name == _TO_THE_RANK:
                place = argument("dst", parameters, args, kwargs)  # or its place in the group
                came, way = [], TO_ME if place in (None, module.get_rank()) else TO_ANOTHER
            elif name.startswith((*_IN_PARTS, *_GATHERING)):
                way = PART if name.startswith(_IN_PARTS) else GATHERED
            self._hooks.exchanged(sent, came, ranks, way)

        setattr(module, name, self._noting(original, note))

    def _wrap_to_one(self, module: Any, name: str, peer: str) -> None:
        original = getattr(module, name)
        parameters = parameters_of(original)

        def note(args: Any, kwargs: Any) -> None:
            group = self._groups.member(argument("group", parameters, args, kwargs))
            other = argument(peer, parameters, args, kwargs)
            if group is None or not isinstance(other, int):
                return
            self._groups.called(group)
            pair = sorted({module.get_rank(), other})
            if module.get_world_size() == 2:
                pair = ALL  # type: ignore[assignment]
            self._collector.sent()
            self._collector.passed()
            tensors = _tensors(argument("tensor", parameters, args, kwargs))
            elements = sum(int(tensor.numel()) for tensor in tensors)
            self._carry(pair, elements, elements)

        setattr(module, name, self._noting(original, note))

    def _wrap_from_one(self, module: Any, name: str) -> None:
        original = getattr(module, name)
        parameters = parameters_of(original)

        def note(args: Any, kwargs: Any) -> None:
            group = self._groups.member(argument("group", parameters, args, kwargs))
            if group is not None:
                self._groups.called(group)
                if name != _NOTHING:
                    self._collector.sent()

        setattr(module, name, self._noting(original, note))

    def _noting(self, original: Any, note: Any) -> Any:
        """``original``, with ``note`` told of each call that calls no other one of these."""
        collector = self._collector

        def called(*args: Any, **kwargs: Any) -> Any:
            before = self._leaves
            result = original(*args, **kwargs)
            if self._leaves == before and not collector.broken:
                self._leaves += 1
                try:
                    note(args, kwargs)
                except Exception as error:
                    collector.give_up(error)
            return result

        return untraced(original, called)

    def _forget_after(self, module: Any, name: str) -> None:
        """A new group may have the number of one that is gone."""
        original = getattr(module, name)

        @functools.wraps(original)
        def made(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            try:
                self._groups.forget_gone()
            except Exception as error:
                self._collector.give_up(error)
            return result

        setattr(module, name, made)

    # -- what it means -----------------------------------------------------------------------------

    def look(self, optimizer: Any, parameters: Sequence[Any], count: int) -> None:
        """An optimizer is about to make its step number ``count``, which is looked at."""
        if not self._groups.are_there:
            return
        self._groups.keep_hidden(self._groups.at_first_step)
        self._groups.keep_totals()
        self._tell_models(parameters, self.models.since(optimizer))
        self._tell_seldom(optimizer, parameters, count)
        if count > 1:
            self._unseen.note(optimizer, parameters, count)

    def last_look(self) -> None:
        """The last word is about to be said; the groups may still be there."""
        if self._groups.are_there:
            self._hooks.look_at_compiled()
        self._hooks.end()
        if not self._groups.are_there:
            return
        for optimizer, parameters in self._hooks.optimized():
            self._hooks.look_at_values(parameters)
            # One may have computed its gradients within its only step.
            self._tell_models(parameters, self.models.since(optimizer))
            self._collector.took(optimizer, map(self._hooks.tracked, parameters))
            self._tell_seldom(optimizer, parameters, self._hooks.steps_of(optimizer))
        self._tell_models(self._hooks.parameters())
        steps = self._hooks.most_steps()
        for variables, ranks in self._unseen.found(list(self._hooks.parameters()), steps):
            self._collector.reduced(variables, ranks)
            if not variables:
                self._carry(ranks, UNKNOWN_ELEMENTS, UNKNOWN_ELEMENTS, is_uncounted=True)

    def _tell_seldom(self, optimizer: Any, parameters: Sequence[Any], steps: int) -> None:
        """Whether at most steps nothing went over the groups of the DDPs that it trains."""
        if steps < _MANY_STEPS:
            return
        went = [self._groups.since_first_step(one) for one in self.models.groups_of(parameters)]
        is_seldom = all(count is not None and 2 * count < steps - 1 for count in went)
        self._collector.seldom(optimizer, bool(went) and is_seldom)

    def _tell_models(self, parameters: Sequence[Any], since: Passes = NO_PASSES) -> None:
        for parameter, groups, is_whole, ways in self.models.trained(parameters, since):
            variable = self._hooks.tracked(parameter)
            variable.is_whole = is_whole
            for ranks in groups:
                self._collector.reduced([variable], ranks, ways)
        for parameter in self.models.wrapped(parameters):
            self._hooks.tracked(parameter).is_past = True

    def carry(self, one: Carried) -> None:
        """What went to other ranks is of no optimizer."""
        self._carry(one.group, math.prod(one.shape), one.together)

    def _carry(self, ranks: Any, elements: int, together: int, is_uncounted: bool = False) -> None:
        """Tells how much of nobody went over a group in all: activations and parts of a model go
        so.

        Args:
            elements: Of a tensor.
            together: Of all tensors of the call.
        """
        if together < MANY or ranks is None or (ranks != ALL and len(ranks) < 2):
            return
        carried = self._carried.setdefault(ranks if ranks == ALL else tuple(ranks), [0, 0])
        carried[0] += elements
        if carried[0] >= 2 * carried[1]:
            carried[1] = carried[0]
            self._collector.carried(ranks, carried[0], is_uncounted)


def _tensors(found: Any) -> list[Any]:
    if isinstance(found, (list, tuple)):
        return [one for each in found for one in _tensors(each)]
    return [found] if hasattr(found, "data_ptr") else []
