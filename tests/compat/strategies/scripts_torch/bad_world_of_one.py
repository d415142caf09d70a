"""Each process makes a group of its own, of one rank."""

import torch
import torch.distributed as dist
import toy

dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
model = torch.nn.parallel.DistributedDataParallel(toy.model())
toy.train(model, torch.optim.SGD(model.parameters(), lr=0.1))
dist.destroy_process_group()
