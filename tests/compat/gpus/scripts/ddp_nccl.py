"""DistributedDataParallel over NCCL, momentum, whole batches."""

import one_gpu
import torch
import torch.distributed as dist

rank, world = one_gpu.join()
model = torch.nn.parallel.DistributedDataParallel(one_gpu.model(), device_ids=[0])
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
one_gpu.train(model, optimizer, rank, world)
dist.destroy_process_group()
