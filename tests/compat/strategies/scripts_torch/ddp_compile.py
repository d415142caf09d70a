"""A compiled model under DDP; no compiler of C++ is needed with this backend."""

import torch
import torch.distributed as dist
import toy

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(toy.model())
compiled = torch.compile(model, backend="aot_eager")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
toy.train(compiled, optimizer, dist.get_rank(), dist.get_world_size(), epochs=2)
dist.destroy_process_group()
