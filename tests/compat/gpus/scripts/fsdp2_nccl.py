"""fully_shard: parameters as distributed tensors over a mesh of GPUs."""

import one_gpu
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

rank, world = one_gpu.join()
mesh = init_device_mesh("cuda", (world,))
model = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2)).cuda()
for part in (model[0], model[2], model):
    fully_shard(part, mesh=mesh)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
one_gpu.train(model, optimizer, rank, world)
dist.destroy_process_group()
