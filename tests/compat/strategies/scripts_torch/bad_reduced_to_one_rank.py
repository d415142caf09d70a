"""Gradients are summed in rank 0, and every rank applies what it has."""

import torch
import torch.distributed as dist
import toy

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
model = toy.model()
for parameter in model.parameters():
    dist.broadcast(parameter.data, 0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for points, classes in toy.batches(rank, world):
    optimizer.zero_grad()
    toy.loss_of(model(points), classes).backward()
    for parameter in model.parameters():
        dist.reduce(parameter.grad, 0)
        parameter.grad /= world
    optimizer.step()
dist.destroy_process_group()
