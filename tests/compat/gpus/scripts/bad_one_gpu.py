"""Each rank takes the first GPU: two train on one, and the others of the machine stay idle."""

import one_gpu
import torch
import torch.distributed as dist

rank, world = one_gpu.join()
model = torch.nn.parallel.DistributedDataParallel(one_gpu.model(), device_ids=[0])
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
one_gpu.train(model, optimizer, rank, world)
dist.destroy_process_group()
