"""Joins the group and divides the data, and never wraps the model."""

import torch
import torch.distributed as dist
import toy

dist.init_process_group("gloo")
model = toy.model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
toy.train(model, optimizer, dist.get_rank(), dist.get_world_size())
dist.barrier()
dist.destroy_process_group()
