"""What trains on several devices or hosts and is not started here: recognised in the source, so
that nobody pays for ranks that stay strangers to each other."""

from __future__ import annotations

from launchers.core.strategies.strategy import Use

# The first that is seen is named.
USES = (
    Use("SageMaker's distributed data parallel library", (r"smdistributed",)),
    Use("FairScale", (r"fairscale",)),
    Use("Colossal-AI", (r"colossalai",)),
    Use("PyTorch/XLA", (r"torch_xla",)),
    Use("Apex's DistributedDataParallel", (r"apex\.parallel",)),
    Use("ignite.distributed", (r"ignite\.distributed",)),
    Use("Ray", (r"ray",)),
    Use("mpi4py", (r"mpi4py",), instead="join the ranks by hvd.init() and exchange by Horovod"),
)
