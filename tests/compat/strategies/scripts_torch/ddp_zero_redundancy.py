"""Each rank keeps the optimizer's state of its part of the parameters."""

import torch
import torch.distributed as dist
import toy
from torch.distributed.optim import ZeroRedundancyOptimizer

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(toy.model())
optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam, lr=0.01)
toy.train(model, optimizer, dist.get_rank(), dist.get_world_size())
dist.destroy_process_group()
