"""DDP over a group of this rank alone."""

import torch
import torch.distributed as dist
import toy

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
groups = [dist.new_group([one]) for one in range(world)]
model = torch.nn.parallel.DistributedDataParallel(toy.model(), process_group=groups[rank])
toy.train(model, torch.optim.SGD(model.parameters(), lr=0.1), rank, world)
dist.destroy_process_group()
