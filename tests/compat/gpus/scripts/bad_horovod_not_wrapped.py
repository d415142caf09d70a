"""Joins over NCCL, broadcasts, and trains with an optimizer that was never wrapped."""

import horovod.torch as hvd
import one_gpu_horovod as one_gpu
import torch

rank, world = one_gpu.join()
model = one_gpu.model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
one_gpu.train(model, optimizer, rank, world)
hvd.shutdown()
