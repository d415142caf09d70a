"""Calls the model inside the wrapper, so that the wrapper's hooks never run."""

import torch
import torch.distributed as dist
import toy

dist.init_process_group("gloo")
ddp = torch.nn.parallel.DistributedDataParallel(toy.model())
optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
toy.train(ddp.module, optimizer, dist.get_rank(), dist.get_world_size())
dist.destroy_process_group()
