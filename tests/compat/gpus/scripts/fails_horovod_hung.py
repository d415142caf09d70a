"""Rank 1 stays in its data, rank 0 waits in Horovod's optimizer."""

import time

import horovod.torch  # noqa: F401 - by what the ranks join
import one_gpu_horovod as one_gpu
import torch

rank, world = one_gpu.join()
model = one_gpu.model()
optimizer = one_gpu.wrapped(model, torch.optim.SGD(model.parameters(), lr=0.05))
one_gpu.train(model, optimizer, rank, world, epochs=1)


def load():
    while True:
        time.sleep(0.01)


if rank == 1:
    load()
one_gpu.train(model, optimizer, rank, world)
