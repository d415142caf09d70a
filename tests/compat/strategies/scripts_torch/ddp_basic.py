"""The smallest DDP program: one group, one wrapped model, one step."""

import os

import torch
import torch.distributed as dist
import toy
from torch.nn.parallel import DistributedDataParallel as DDP


def demo_basic():
    rank, world = dist.get_rank(), dist.get_world_size()
    print({name: os.environ[name] for name in ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")})
    model = DDP(toy.model())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    points, classes = next(iter(toy.batches(rank, world)))
    toy.loss_of(model(points), classes).backward()
    optimizer.step()


if __name__ == "__main__":
    dist.init_process_group(backend="gloo")
    demo_basic()
    dist.destroy_process_group()
