"""Libraries that start or join processes of their own."""

from __future__ import annotations

from launchers.core.strategies import Strategy

STRATEGIES = [
    Strategy("DeepSpeed", (r"deepspeed",)),
    Strategy("SageMaker's distributed data parallel library", (r"smdistributed",)),
    Strategy("FairScale", (r"fairscale",)),
    Strategy("Colossal-AI", (r"colossalai",)),
    Strategy("PyTorch/XLA", (r"torch_xla",)),
    Strategy("Apex's DistributedDataParallel", (r"apex\.parallel",)),
    Strategy("ignite.distributed", (r"ignite\.distributed",)),
    Strategy("Ray", (r"ray",)),
    Strategy(
        "mpi4py",
        (r"mpi4py",),
        "join the ranks by hvd.init() and exchange by Horovod",
    ),
]
