"""No wrapped optimizer: weights broadcast, gradients averaged as a group after each backward."""

import horovod.torch as hvd
import one_gpu_horovod as one_gpu
import torch
import toy

rank, world = one_gpu.join()
model = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2)).cuda()
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
for points, classes in one_gpu.batches(rank, world):
    optimizer.zero_grad()
    toy.loss_of(model(points), classes).backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    means = hvd.grouped_allreduce(gradients, name="gradients")
    for own, mean in zip(gradients, means, strict=True):
        own.copy_(mean)
    optimizer.step()
hvd.shutdown()
