"""Horovod's optimizer over weights that were never made equal."""

import horovod.torch as hvd
import one_gpu_horovod as one_gpu
import torch

rank, world = one_gpu.join()
model = one_gpu.model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
optimizer = hvd.DistributedOptimizer(optimizer, model.named_parameters())
one_gpu.train(model, optimizer, rank, world)
hvd.shutdown()
