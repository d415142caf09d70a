"""torch.compile with its own compiler (Triton's kernels), model and optimizer."""

import one_gpu
import torch
import torch.distributed as dist

rank, world = one_gpu.join()
model = torch.nn.parallel.DistributedDataParallel(one_gpu.model(), device_ids=[0])
compiled = torch.compile(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, capturable=True)
one_gpu.train(compiled, optimizer, rank, world)
dist.destroy_process_group()
