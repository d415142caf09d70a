"""Two models that train against each other, each under DDP, each with its optimizer."""

import torch
import torch.distributed as dist
import toy
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
maker = DDP(nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8)))
judge = DDP(
    nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(), nn.Linear(16, 1)), broadcast_buffers=False
)
of_maker = torch.optim.Adam(maker.parameters(), lr=1e-3)
of_judge = torch.optim.Adam(judge.parameters(), lr=1e-3)
loss_of = nn.BCEWithLogitsLoss()
for points, _ in toy.batches(rank, world):
    made = maker(torch.randn(len(points), 4))
    of_judge.zero_grad()
    both = judge(torch.cat([points, made.detach()]))
    loss_of(both, torch.cat([torch.ones(len(points), 1), torch.zeros(len(made), 1)])).backward()
    of_judge.step()
    of_maker.zero_grad()
    loss_of(judge(made), torch.ones(len(made), 1)).backward()
    of_maker.step()
dist.destroy_process_group()
