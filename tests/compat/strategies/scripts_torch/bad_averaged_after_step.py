"""Gradients are averaged once they were applied."""

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
    optimizer.zero_grad(set_to_none=False)
    toy.loss_of(model(points), classes).backward()
    optimizer.step()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= world
dist.destroy_process_group()
