"""PyTorch's own: torch.distributed and what is built on it, and DataParallel."""

from __future__ import annotations

from launchers.core.strategies import Strategy

_TAKE_OUT = (
    "use Horovod instead of the process group: hvd.init(), hvd.DistributedOptimizer, "
    "hvd.broadcast_parameters and hvd.broadcast_optimizer_state"
)

STRATEGIES = [
    Strategy(
        "torch.distributed",
        (
            r"torch\.distributed",
            r"torch\.nn\.parallel\.(?:distributed\.)?DistributedDataParallel",
            r"torch\.nn\.parallel\.distributed",
        ),
        _TAKE_OUT,
    ),
    Strategy(
        "torch.nn.DataParallel",
        (r"torch\.nn\.(?:parallel\.)?(?:data_parallel\.)?DataParallel",),
        "take DataParallel out: Horovod has one rank a GPU, each with the whole model",
    ),
]
