"""Hugging Face Accelerate: joins the processes that its own launcher starts."""

from __future__ import annotations

from launchers.core.strategies import Strategy

STRATEGIES = [
    Strategy(
        "Accelerate",
        (r"accelerate",),
        "use Horovod in the training loop instead of the Accelerator: hvd.init(), "
        "hvd.DistributedOptimizer, hvd.broadcast_parameters",
    )
]
