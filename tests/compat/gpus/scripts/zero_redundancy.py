"""ZeroRedundancyOptimizer: each rank keeps the optimizer's state of its part."""

import one_gpu
import torch
import torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer

rank, world = one_gpu.join()
model = torch.nn.parallel.DistributedDataParallel(one_gpu.model(), device_ids=[0])
optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam, lr=0.01)
one_gpu.train(model, optimizer, rank, world)
dist.destroy_process_group()
