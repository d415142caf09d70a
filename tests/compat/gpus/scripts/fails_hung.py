"""Rank 1 stays in its data, rank 0 spins in NCCL: no line, no step, and 100 % of both."""

import time

import one_gpu
import torch

rank, world = one_gpu.join()
model = torch.nn.parallel.DistributedDataParallel(one_gpu.model(), device_ids=[0])
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
one_gpu.train(model, optimizer, rank, world, epochs=1)


def load():
    while True:
        time.sleep(0.01)


if rank == 1:
    load()
one_gpu.train(model, optimizer, rank, world)
