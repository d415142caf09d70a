"""FSDP over a group of this rank alone: nothing is sharded and nothing exchanged."""

import torch
import torch.distributed as dist
import toy
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
groups = [dist.new_group([one]) for one in range(world)]
model = FSDP(toy.model(), process_group=groups[rank], device_id=torch.device("cpu"))
toy.train(model, torch.optim.SGD(model.parameters(), lr=0.1), rank, world)
dist.destroy_process_group()
