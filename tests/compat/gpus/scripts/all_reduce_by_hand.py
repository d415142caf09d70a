"""No wrapper: weights broadcast, each gradient averaged after each backward."""

import one_gpu
import torch
import torch.distributed as dist
import toy

rank, world = one_gpu.join()
model = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2)).cuda()
for parameter in model.parameters():
    dist.broadcast(parameter.data, src=0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
for points, classes in one_gpu.batches(rank, world):
    optimizer.zero_grad()
    toy.loss_of(model(points), classes).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, op=dist.ReduceOp.AVG)
    optimizer.step()
dist.destroy_process_group()
