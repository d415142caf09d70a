"""Gloo between ranks whose tensors lie on a GPU."""

import one_gpu
import torch
import torch.distributed as dist

rank, world = one_gpu.join("gloo")
model = torch.nn.parallel.DistributedDataParallel(one_gpu.model())
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
one_gpu.train(model, optimizer, rank, world)
dist.destroy_process_group()
