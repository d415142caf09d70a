"""The weights of one model are averaged; a second one of the same shape is trained beside it."""

import torch
import torch.distributed as dist
import toy

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
averaged, alone = toy.model(), toy.model()
optimizer = torch.optim.SGD(averaged.parameters(), lr=0.1)
second = torch.optim.SGD(alone.parameters(), lr=0.1)
for points, classes in toy.batches(rank, world):
    for model, its in ((averaged, optimizer), (alone, second)):
        its.zero_grad()
        toy.loss_of(model(points), classes).backward()
        its.step()
    with torch.no_grad():
        for parameter in averaged.parameters():
            dist.all_reduce(parameter)
            parameter /= world
dist.destroy_process_group()
