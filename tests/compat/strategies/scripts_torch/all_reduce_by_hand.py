"""No wrapper: start weights broadcast, gradients averaged by the script after each backward."""

import torch
import torch.distributed as dist
import toy


def average_gradients(model, world):
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, op=dist.ReduceOp.SUM)
        parameter.grad /= world


dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
model = toy.model()
for parameter in model.parameters():
    dist.broadcast(parameter.data, src=0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
for points, classes in toy.batches(rank, world):
    optimizer.zero_grad()
    toy.loss_of(model(points), classes).backward()
    average_gradients(model, world)
    optimizer.step()
dist.destroy_process_group()
