"""Each rank has the optimizer of its own layer: gradients are summed there, weights broadcast."""

import torch
import torch.distributed as dist
import toy
from torch import nn

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)  # the same start weights everywhere
layers = [nn.Linear(8, 8) for _ in range(world)]
model = nn.Sequential(*layers)
optimizer = torch.optim.SGD(layers[rank].parameters(), lr=0.1)
for points, classes in toy.batches(rank, world):
    model.zero_grad()
    toy.loss_of(model(points), classes).backward()
    for owner, layer in enumerate(layers):
        for parameter in layer.parameters():
            dist.reduce(parameter.grad, owner)
            parameter.grad /= world
    optimizer.step()
    for owner, layer in enumerate(layers):
        for parameter in layer.parameters():
            dist.broadcast(parameter.data, owner)
dist.destroy_process_group()
