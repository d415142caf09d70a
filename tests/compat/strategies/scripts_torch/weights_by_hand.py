"""Each rank trains by itself and the weights are averaged every few steps, and at the end."""

import torch
import torch.distributed as dist
import toy


def average(model, world):
    with torch.no_grad():
        for parameter in model.parameters():
            dist.all_reduce(parameter)
            parameter /= world


dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
model = toy.model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for index, (points, classes) in enumerate(toy.batches(rank, world)):
    optimizer.zero_grad()
    toy.loss_of(model(points), classes).backward()
    optimizer.step()
    if index % 4 == 0:
        average(model, world)
average(model, world)
dist.destroy_process_group()
