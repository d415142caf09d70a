"""DDP within each pair of ranks; nothing goes from one pair to the other."""

import torch
import torch.distributed as dist
import toy

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
model = torch.nn.parallel.DistributedDataParallel(toy.model(), process_group=pairs[rank // 2])
toy.train(model, torch.optim.SGD(model.parameters(), lr=0.1), rank, world)
dist.barrier()
dist.destroy_process_group()
