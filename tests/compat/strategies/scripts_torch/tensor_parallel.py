"""A layer split by columns and the next by rows; all ranks see the same data."""

import torch
import torch.distributed as dist
import toy
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

mesh = init_device_mesh("cpu", (2,))
torch.manual_seed(0)
plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
model = parallelize_module(toy.model(16), mesh, plan)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(8):
    torch.manual_seed(step)
    optimizer.zero_grad()
    model(torch.rand(20, 8)).sum().backward()
    optimizer.step()
dist.destroy_process_group()
