"""Rank 1 is killed in the middle, while rank 0 waits for it in NCCL."""

import os
import signal

import one_gpu
import torch

rank, world = one_gpu.join()
model = torch.nn.parallel.DistributedDataParallel(one_gpu.model(), device_ids=[0])
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
one_gpu.train(model, optimizer, rank, world, epochs=1)
if rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
one_gpu.train(model, optimizer, rank, world)
