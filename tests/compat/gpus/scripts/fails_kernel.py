"""A class that the model has not: the kernel's assertion ends rank 1, wherever it is then."""

import one_gpu
import torch
import toy

rank, world = one_gpu.join()
model = torch.nn.parallel.DistributedDataParallel(one_gpu.model(), device_ids=[0])
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for number, (points, classes) in enumerate(one_gpu.batches(rank, world)):
    if rank == 1 and number == 2:
        classes = classes + 7
    optimizer.zero_grad()
    toy.loss_of(model(points), classes).backward()
    optimizer.step()
torch.cuda.synchronize()
