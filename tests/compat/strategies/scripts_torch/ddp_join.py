"""Ranks with different numbers of batches, under the Join context."""

import torch
import torch.distributed as dist
import toy
from torch.distributed.algorithms.join import Join

dist.init_process_group("gloo")
rank = dist.get_rank()
model = torch.nn.parallel.DistributedDataParallel(toy.model())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
uneven = list(toy.batches(epochs=1))[: 5 + rank]
with Join([model]):
    for points, classes in uneven:
        optimizer.zero_grad()
        toy.loss_of(model(points), classes).backward()
        optimizer.step()
dist.destroy_process_group()
