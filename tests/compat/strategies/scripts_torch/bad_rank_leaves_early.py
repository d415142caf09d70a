"""All ranks but the first end after joining; the first trains on alone."""

import sys

import torch
import torch.distributed as dist
import toy

dist.init_process_group("gloo")
dist.barrier()
if dist.get_rank() > 0:
    sys.exit(0)
model = toy.model()
toy.train(model, torch.optim.SGD(model.parameters(), lr=0.1))
