"""Joins, leaves the group, and trains after that."""

import torch
import torch.distributed as dist
import toy

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
dist.barrier()
dist.destroy_process_group()
model = toy.model()
toy.train(model, torch.optim.SGD(model.parameters(), lr=0.1), rank, world)
