"""A model in two stages, one on each rank; activations and gradients go from rank to rank."""

import torch
import torch.distributed as dist
import toy
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
layers = [nn.Sequential(nn.Linear(8, 16), nn.ReLU()), nn.Linear(16, 2)]
example = torch.zeros(8, 8) if rank == 0 else torch.zeros(8, 16)
stage = PipelineStage(layers[rank], rank, world, torch.device("cpu"), input_args=(example,))
schedule = ScheduleGPipe(stage, n_microbatches=4, loss_fn=toy.loss_of)
optimizer = torch.optim.SGD(layers[rank].parameters(), lr=0.1)
points, classes = toy.data().tensors
for first in range(0, 256, 32):
    optimizer.zero_grad()
    if rank == 0:
        schedule.step(points[first : first + 32])
    else:
        schedule.step(target=classes[first : first + 32], losses=[])
    optimizer.step()
dist.destroy_process_group()
