"""horovod.torch over NCCL: its optimizer, momentum, weights and statistics broadcast."""

import horovod.torch as hvd
import one_gpu_horovod as one_gpu
import torch

rank, world = one_gpu.join()
model = one_gpu.model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
optimizer = one_gpu.wrapped(model, optimizer)
one_gpu.train(model, optimizer, rank, world)
hvd.shutdown()
