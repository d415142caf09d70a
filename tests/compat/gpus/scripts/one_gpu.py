"""How the ranks of torch.distributed come to a world of NCCL on one GPU."""

import torch
import torch.distributed as dist
from gpu_toy import batches, model, train  # noqa: F401 - of the scripts beside


def join(backend="nccl"):
    """This rank, and how many there are; its GPU is the current one."""
    torch.cuda.set_device(0)
    dist.init_process_group(backend)
    return dist.get_rank(), dist.get_world_size()
