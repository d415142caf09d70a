"""DDP with a graph that stays, then with parameters that some ranks do not use."""

import torch
import torch.distributed as dist
import toy
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Branches(nn.Module):
    """Uses one of two heads, another one from batch to batch and from rank to rank."""

    def __init__(self, rank):
        super().__init__()
        self.body, self.heads = toy.model(), nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
        self.turn = rank

    def forward(self, points):
        self.turn = 1 - self.turn
        return self.heads[self.turn](self.body(points))


dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
for model in (
    DDP(toy.model(), static_graph=True, gradient_as_bucket_view=True),
    DDP(Branches(rank % 2), find_unused_parameters=True, bucket_cap_mb=1),
):
    toy.train(model, torch.optim.SGD(model.parameters(), lr=0.1), rank, world)
dist.destroy_process_group()
