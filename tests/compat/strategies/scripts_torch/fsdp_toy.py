"""Sharded parameters (FSDP), wrapped layer by layer."""

import functools

import torch
import torch.distributed as dist
import toy
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy

dist.init_process_group("gloo")
policy = functools.partial(size_based_auto_wrap_policy, min_num_params=100)
model = FSDP(toy.model(64), auto_wrap_policy=policy, device_id=torch.device("cpu"))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
toy.train(model, optimizer, dist.get_rank(), dist.get_world_size())
dist.barrier()
dist.destroy_process_group()
