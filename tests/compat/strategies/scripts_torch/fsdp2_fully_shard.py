"""Sharded parameters as distributed tensors (fully_shard)."""

import torch
import torch.distributed as dist
import toy
from torch.distributed._composable.fsdp import fully_shard
from torch.distributed.device_mesh import init_device_mesh

mesh = init_device_mesh("cpu", (2,))
model = toy.model(64)
for layer in (model[0], model[2], model):
    fully_shard(layer, mesh=mesh)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
toy.train(model, optimizer, dist.get_rank(), dist.get_world_size())
dist.destroy_process_group()
