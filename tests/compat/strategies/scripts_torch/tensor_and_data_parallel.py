"""Tensor parallel within a host, DDP's exchange over the hosts, on a mesh of two dimensions."""

import torch
import torch.distributed as dist
import toy
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "tensor"))
torch.manual_seed(0)
plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
model = parallelize_module(toy.model(16), mesh["tensor"], plan)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
replicas = mesh["data"].get_group()
for points, classes in toy.batches(mesh["data"].get_local_rank(), 2, epochs=1):
    order = points[:, 0].argsort()
    dist.broadcast(order, src=dist.get_rank() // 2 * 2, group=mesh["tensor"].get_group())
    optimizer.zero_grad()
    toy.loss_of(model(points[order]), classes[order]).backward()
    for parameter in model.parameters():
        gradient = parameter.grad
        local = gradient.to_local() if hasattr(gradient, "to_local") else gradient
        dist.all_reduce(local, group=replicas)
        local /= 2
    optimizer.step()
dist.destroy_process_group()
