"""Rank 0 alone keeps an average of the weights and measures with it at the end."""

import torch
import torch.distributed as dist
import toy
from torch.optim.swa_utils import AveragedModel

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
model = torch.nn.parallel.DistributedDataParallel(toy.model())
average = AveragedModel(model.module) if rank == 0 else None
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for points, classes in toy.batches(rank, world):
    optimizer.zero_grad()
    toy.loss_of(model(points), classes).backward()
    optimizer.step()
    if average is not None:
        average.update_parameters(model.module)
if average is not None:
    points, classes = toy.data().tensors
    with torch.no_grad():
        right = (average(points).argmax(1) == classes).float().mean()
    print(f"accuracy of the average {right:.2f}")
dist.barrier()
dist.destroy_process_group()
