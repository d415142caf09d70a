"""PyTorch's ways to keep one model on all ranks, as --sync and its companions ask for."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

from torch.nn.parallel import DistributedDataParallel

from ..arguments import Settings
from ..errors import PeerEndedError, TrainingError
from ..sync import ADASUM, ALLREDUCE, FP16, against_adasum
from .freezing import Network
from .precision import Precision
from .ranks import HOROVOD, TORCH, TorchRanks


def check(settings: Settings, ranks: TorchRanks) -> None:
    """Passes where these ranks can do what is asked for; no collective, the same on all ranks.

    Raises:
        TrainingError: Adasum, which is Horovod's, or where that has none; on rank 0.
        PeerEndedError: The same, on the others.
    """
    if settings.sync.kind != ADASUM or ranks.size == 1:
        return
    found = _against_adasum(ranks)
    if found:
        raise (TrainingError if ranks.first else PeerEndedError)(f"--sync adasum: {found}")


def _against_adasum(ranks: TorchRanks) -> str:
    if ranks.speak_by != HOROVOD:
        return (
            "these ranks average by DistributedDataParallel, which has no Adasum. Use --sync "
            "allreduce; or --strategy horovod, with ranks that mpirun starts."
        )
    import horovod.torch as hvd

    return against_adasum(hvd.mpi_enabled(), ranks.size)


def step_apart(settings: Settings) -> bool:
    """Whether each rank's optimizer goes by its own gradients, so that its state is its own.

    With Adasum too: what Horovod's optimizer combines are the ranks' updates of parameters.
    """
    return settings.sync.kind != ALLREDUCE


def distributed(optimizer: Any, model: Network, settings: Settings, ranks: TorchRanks) -> Any:
    """The optimizer to train with: Horovod's, whose steps exchange gradients, or ``optimizer``
    itself where a wrapped model does that, or nothing.

    With ``--sync average`` nothing does: the run averages parameters.
    """
    if ranks.speak_by != HOROVOD or settings.sync.averages:
        return optimizer
    import horovod.torch as hvd

    return hvd.DistributedOptimizer(
        optimizer,
        model.named_parameters(),
        compression=hvd.Compression.fp16 if settings.compression == FP16 else hvd.Compression.none,
        backward_passes_per_step=settings.backward_passes,
        op=hvd.Adasum if settings.sync.kind == ADASUM else hvd.Average,
    )


def wrapped(model: Network, settings: Settings, ranks: TorchRanks) -> Any:
    """What forward passes go through: DistributedDataParallel, whose backward passes exchange
    gradients, or ``model`` itself where Horovod's optimizer does that, or nothing."""
    if ranks.speak_by != TORCH or settings.sync.averages:
        return model
    parallel = DistributedDataParallel(model)
    if settings.compression == FP16 and ranks.size > 1:
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

        parallel.register_comm_hook(None, default_hooks.fp16_compress_hook)
    return parallel


class Steps:
    """The optimizer's steps, each after as many passes as ``--backward-passes`` says, by the mean
    of their gradients.

    Args:
        model: Of :func:`wrapped`.
        optimizer: Of :func:`distributed`.
        computing: Scales losses, and leaves out a step whose gradients have overflowed.
        passes: Of a step.
    """

    def __init__(self, model: Any, optimizer: Any, computing: Precision, passes: int):
        self._model, self._optimizer, self._computing = model, optimizer, computing
        self._passes, self._done = passes, 0

    @contextlib.contextmanager
    def one_pass(self) -> Iterator[None]:
        """A forward and a backward pass are within; behind the last one of a step that is taken."""
        if self._done == 0:
            self._optimizer.zero_grad()
        self._done = (self._done + 1) % self._passes
        with self._exchanging(self._done == 0):
            yield
        if self._done == 0:
            self._computing.step(self._optimizer)

    def backward(self, loss: Any) -> None:
        """Adds the gradients of ``loss`` up, of which a step's mean is made."""
        self._computing.scaled(loss / self._passes).backward()

    def _exchanging(self, is_last: bool) -> contextlib.AbstractContextManager[Any]:
        # Horovod's optimizer counts the passes itself.
        if is_last or not isinstance(self._model, DistributedDataParallel):
            return contextlib.nullcontext()
        none: contextlib.AbstractContextManager[Any] = self._model.no_sync()
        return none
