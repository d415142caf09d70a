"""SyncBatchNorm, whose statistics go over all ranks."""

import one_gpu
import torch
import torch.distributed as dist

rank, world = one_gpu.join()
model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(one_gpu.model())
model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[0])
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
one_gpu.train(model, optimizer, rank, world)
dist.destroy_process_group()
