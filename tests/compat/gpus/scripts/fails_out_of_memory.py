"""Rank 1 asks for more than the GPU has, while rank 0 waits for it in NCCL."""

import one_gpu
import torch

rank, world = one_gpu.join()
model = torch.nn.parallel.DistributedDataParallel(one_gpu.model(), device_ids=[0])
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
one_gpu.train(model, optimizer, rank, world, epochs=1)
if rank == 1:
    torch.empty(1 << 42, device="cuda")
one_gpu.train(model, optimizer, rank, world)
