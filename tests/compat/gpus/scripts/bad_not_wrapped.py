"""Joins over NCCL, divides the data, and never wraps the model."""

import one_gpu
import torch
import torch.distributed as dist

rank, world = one_gpu.join()
model = one_gpu.model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
one_gpu.train(model, optimizer, rank, world)
dist.barrier()
dist.destroy_process_group()
