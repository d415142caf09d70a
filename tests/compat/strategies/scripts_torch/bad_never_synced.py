"""Accumulates under no_sync and steps there, too."""

import torch
import torch.distributed as dist
import toy

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(toy.model())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with model.no_sync():
    toy.train(model, optimizer, dist.get_rank(), dist.get_world_size())
dist.destroy_process_group()
