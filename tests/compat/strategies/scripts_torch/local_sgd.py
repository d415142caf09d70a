"""Gradients averaged within a host at every step, weights over all hosts now and then."""

import torch
import torch.distributed as dist
import toy
from torch.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook as local_sgd
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.optim import PostLocalSGDOptimizer

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
hosts = [dist.new_group([0, 1]), dist.new_group([2, 3])]
model = torch.nn.parallel.DistributedDataParallel(toy.model())
state = local_sgd.PostLocalSGDState(
    process_group=None, subgroup=hosts[rank // 2], start_localSGD_iter=2
)
model.register_comm_hook(state, local_sgd.post_localSGD_hook)
optimizer = PostLocalSGDOptimizer(
    torch.optim.SGD(model.parameters(), lr=0.1), PeriodicModelAverager(period=3, warmup_steps=2)
)
# 6 steps in two epochs of 64 points a rank in batches of 32, and the last of them averages.
for _ in range(2):
    for index, (points, classes) in enumerate(toy.batches(rank, world, epochs=2)):
        optimizer.zero_grad()
        toy.loss_of(model(points), classes).backward()
        optimizer.step()
        if index == 2:
            break
dist.destroy_process_group()
