"""What is wrapped to be trained together: DistributedDataParallel, FSDP, DTensor, DeepSpeed's ZeRO.

Wrapped alone says little: a script may call the module inside. So the passes of a DDP are counted
whose gradients it will reduce; of what is sharded, and of a DDP whose passes torch.compile has
made its own, the groups' own counters tell whether anything went over them.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import weakref
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

from launch_runtime.evidence.records import ACCUMULATED, BF16, FP16
from launch_runtime.rank.exchange.untraced import untraced

# A model -> how many of its passes had been counted.
Passes = Mapping[Any, int]
NO_PASSES: Passes = {}


class Trained(NamedTuple):
    """A parameter whose gradient is exchanged.

    Attributes:
        parameter: Torch's own.
        groups: Ranks of each group over which it goes.
        is_whole: Whether every rank has all of it, so that values can be compared.
        ways: Of ``evidence.records.WAYS``.
    """

    parameter: Any
    groups: list[Any]
    is_whole: bool
    ways: frozenset[str] = frozenset()


class WrappedModels:
    """Those that were made in this process.

    Args:
        ranks_of: The ranks of a process group, or None.
        total_of: How many collectives went over it.
    """

    def __init__(self, ranks_of: Callable[[Any], Any], total_of: Callable[[Any], int]):
        self._ranks_of, self._total_of = ranks_of, total_of
        self._passes: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._sharded: weakref.WeakSet[Any] = weakref.WeakSet()
        self._partitioned: weakref.WeakSet[Any] = weakref.WeakSet()  # optimizers of DeepSpeed
        # A parameter's number -> a weak reference, and the number of the group.
        self._wrapped: dict[int, tuple[Any, int]] = {}
        self._made: weakref.WeakSet[Any] = weakref.WeakSet()  # DDPs; not those that were copied
        self._counted: set[int] = set()  # numbers of groups over which a DDP's passes were seen
        self._ways: weakref.WeakKeyDictionary[Any, frozenset[str]] = weakref.WeakKeyDictionary()
        # Which have made a pass whose gradient stays here, since the last step of any optimizer.
        self._gathering: weakref.WeakSet[Any] = weakref.WeakSet()
        self.on_wrapped: Callable[[], None] = lambda: None
        # Of the last step of any optimizer, and of the last one before each optimizer's first.
        self._at_last_step: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._at_begin: weakref.WeakKeyDictionary[Any, Passes] = weakref.WeakKeyDictionary()

    def stepped(self, optimizer: Any) -> None:
        """An optimizer has made a step."""
        for model, passes in self._passes.items():
            self._at_last_step[model] = passes
        self._gathering.clear()

    def since(self, optimizer: Any) -> Passes:
        """The passes that had been made, and applied, when this optimizer began."""
        if optimizer not in self._at_begin:
            self._at_begin[optimizer] = self._at_last_step.copy()
        return self._at_begin[optimizer]

    def data_parallel(self, module: Any) -> None:
        """``torch.nn.parallel.distributed``."""
        passes, wrapped, made = self._passes, self._wrapped, self._made

        def note(model: Any) -> None:
            passes[model] = 0
            made.add(model)
            group = id(model.process_group)
            wrapped.update(
                (id(one), (weakref.ref(one), group))
                for one in model.parameters()
                if getattr(one, "requires_grad", True)  # it passes over the others for good
            )
            self.on_wrapped()

        self._after_init(module.DistributedDataParallel, note)
        self._count_passes(module.DistributedDataParallel)
        for method in ("register_comm_hook", "_register_builtin_comm_hook"):
            if hasattr(module.DistributedDataParallel, method):
                self._note_compression(module.DistributedDataParallel, method)

    def sharded(self, module: Any) -> None:
        """``torch.distributed.fsdp.fully_sharded_data_parallel``."""
        self._after_init(module.FullyShardedDataParallel, self._sharded.add)

    def partitioned(self, module: Any) -> None:
        """``deepspeed.runtime.zero``'s ``stage_1_and_2`` and ``stage3``: a rank steps its part of
        all parameters, as one flat tensor, by gradients that were averaged over all ranks."""
        for name in ("DeepSpeedZeroOptimizer", "DeepSpeedZeroOptimizer_Stage3"):
            if hasattr(module, name):
                self._after_init(getattr(module, name), self._partitioned.add)

    def count_for(self, group: Any) -> bool:
        """Whether a DDP has passed over it, so that nothing is left to be guessed."""
        return id(group) in self._counted

    def trained(self, parameters: Sequence[Any], since: Passes = NO_PASSES) -> Iterator[Trained]:
        """Those of ``parameters`` that are trained together, as far as their models know.

        Args:
            since: Passes of models that were for another optimizer's steps.
        """
        wanted = {id(parameter): parameter for parameter in parameters}
        for model, passes in list(self._passes.items()):
            if passes > since.get(model, 0):
                groups = self._known([getattr(model, "process_group", None)])
                own = self._of(model, wanted)
                for parameter in self.wrapped(own) if model in self._made else own:
                    yield Trained(parameter, groups, True, self._ways.get(model, frozenset()))
        for model in list(self._sharded):
            own = [getattr(model, "process_group", None), getattr(model, "_inter_node_pg", None)]
            groups = self._known([one for one in own if one is not None])
            for parameter in self._of(model, wanted):
                yield Trained(parameter, groups, _replicates(model))
        for zero in list(self._partitioned):
            groups = self._known([zero.dp_process_group])
            for group in zero.optimizer.param_groups:
                for parameter in group["params"]:
                    if id(parameter) in wanted:
                        yield Trained(parameter, groups, False)
        for parameter in parameters:
            mesh = getattr(parameter, "device_mesh", None)
            if mesh is not None and hasattr(parameter, "placements"):
                whole = not any(one.is_shard() for one in parameter.placements)
                yield Trained(parameter, self._known(_groups_of(mesh)), whole)

    def groups_of(self, parameters: Sequence[Any]) -> list[Any]:
        """Those of the DDPs that hold some of ``parameters``."""
        wanted = {id(parameter): parameter for parameter in parameters}
        return [
            model.process_group
            for model in list(self._passes)
            if hasattr(model, "process_group") and self._of(model, wanted)
        ]

    def wrapped(self, parameters: Sequence[Any], group: Any = None) -> Iterator[Any]:
        """Those that a DDP was made for, over ``group`` or any; the script may have dropped it."""
        for parameter in parameters:
            if id(parameter) not in self._wrapped:
                continue
            ref, over = self._wrapped[id(parameter)]
            if ref() is parameter and (group is None or over == id(group)):
                yield parameter

    def _known(self, groups: Sequence[Any]) -> list[Any]:
        """The ranks of those groups over which something went."""
        found = [self._ranks_of(group) for group in groups if self._total_of(group)]
        return [ranks for ranks in found if ranks is not None]

    @staticmethod
    def _of(model: Any, wanted: dict[int, Any]) -> list[Any]:
        return [wanted[id(one)] for one in model.parameters() if id(one) in wanted]

    @staticmethod
    def _after_init(cls: Any, note: Callable[[Any], None]) -> None:
        original = cls.__init__

        @functools.wraps(original)
        def __init__(model: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            original(model, *args, **kwargs)
            note(model)

        cls.__init__ = __init__

    def _count_passes(self, cls: Any) -> None:
        original = cls.forward
        grad_enabled = sys.modules["torch"].is_grad_enabled
        passes, counted, gathering = self._passes, self._counted, self._gathering
        note = self._goes

        def forward(model: Any, *args: Any, **kwargs: Any) -> Any:
            if grad_enabled():
                if not model.require_backward_grad_sync:
                    gathering.add(model)
                else:
                    passes[model] = passes.get(model, 0) + 1
                    counted.add(id(model.process_group))
                    if model in gathering:
                        note(model, ACCUMULATED)
            return original(model, *args, **kwargs)

        cls.forward = untraced(original, forward)

    def _note_compression(self, cls: Any, method: str) -> None:
        original, note = getattr(cls, method), self._goes

        @functools.wraps(original)
        def register(model: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(model, *args, **kwargs)
            way = _compression((*args, *kwargs.values()))
            if way:
                note(model, way)
            return result

        setattr(cls, method, register)

    def _goes(self, model: Any, way: str) -> None:
        self._ways[model] = self._ways.get(model, frozenset()) | {way}


def _compression(given: Sequence[Any]) -> str:
    """The way in which a hook sends gradients, by its name, or that of a kind of PyTorch's own
    (``BuiltinCommHookType.FP16_COMPRESS``); "" for any other."""
    for one in given:
        is_kind = type(one).__name__ == "BuiltinCommHookType"
        name = ""
        with contextlib.suppress(Exception):  # the script's own object answers
            name = str(getattr(one, "name" if is_kind else "__qualname__", "")).lower()
        found = [way for part, way in (("bf16", BF16), ("fp16", FP16)) if part in name]
        if found:
            return found[0]
    return ""


def _replicates(model: Any) -> bool:
    """Whether an FSDP shards nothing (NO_SHARD)."""
    return getattr(getattr(model, "sharding_strategy", None), "name", "") == "NO_SHARD"


def _groups_of(mesh: Any) -> list[Any]:
    """The process groups of a device mesh, one a dimension."""
    try:
        return list(mesh.get_all_groups())
    except AttributeError:  # before 2.4
        return list(mesh.get_dim_groups())
