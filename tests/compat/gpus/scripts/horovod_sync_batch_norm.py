"""hvd.SyncBatchNorm, whose statistics go over all ranks."""

import horovod.torch as hvd
import one_gpu_horovod as one_gpu
import torch

rank, world = one_gpu.join()
layers = [torch.nn.Linear(8, 64), hvd.SyncBatchNorm(64), torch.nn.ReLU(), torch.nn.Linear(64, 2)]
model = torch.nn.Sequential(*layers).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
optimizer = one_gpu.wrapped(model, optimizer)
one_gpu.train(model, optimizer, rank, world)
hvd.shutdown()
