"""Rank 1 is killed in the middle, while rank 0 waits for it in Horovod's NCCL."""

import os
import signal

import horovod.torch  # noqa: F401 - by what the ranks join
import one_gpu_horovod as one_gpu
import torch

rank, world = one_gpu.join()
model = one_gpu.model()
optimizer = one_gpu.wrapped(model, torch.optim.SGD(model.parameters(), lr=0.05))
one_gpu.train(model, optimizer, rank, world, epochs=1)
if rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
one_gpu.train(model, optimizer, rank, world)
