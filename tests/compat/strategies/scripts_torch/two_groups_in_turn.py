"""A group for a first training, destroyed, and another for a second one."""

import torch
import torch.distributed as dist
import toy

for _phase in range(2):
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(toy.model())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    toy.train(model, optimizer, dist.get_rank(), dist.get_world_size())
    dist.barrier()
    dist.destroy_process_group()
