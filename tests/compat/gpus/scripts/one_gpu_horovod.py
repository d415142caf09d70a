"""How the ranks of Horovod come to a world of NCCL on one GPU."""

import horovod.torch as hvd
import torch
from gpu_toy import batches, model, train  # noqa: F401 - of the scripts beside


def join():
    """This rank, and how many there are; its GPU is the current one."""
    hvd.init()
    torch.cuda.set_device(0)
    return hvd.rank(), hvd.size()


def wrapped(network, optimizer, **options):
    """Horovod's optimizer; all ranks begin with rank 0's values."""
    hvd.broadcast_parameters(network.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    return hvd.DistributedOptimizer(optimizer, network.named_parameters(), **options)
