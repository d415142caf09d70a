"""Gradients as float16 on their way, two backward passes a step."""

import horovod.torch as hvd
import one_gpu_horovod as one_gpu
import torch
import toy

rank, world = one_gpu.join()
model = one_gpu.model()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
optimizer = one_gpu.wrapped(
    model, optimizer, compression=hvd.Compression.fp16, backward_passes_per_step=2
)
for number, (points, classes) in enumerate(one_gpu.batches(rank, world, epochs=4)):
    toy.loss_of(model(points), classes).backward()
    if number % 2:
        optimizer.step()
        optimizer.zero_grad()
hvd.shutdown()
