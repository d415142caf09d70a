"""FSDP: sharded parameters, mixed precision, whole state gathered at the end."""

import functools

import one_gpu
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import MixedPrecision
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy

rank, world = one_gpu.join()
plain = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
policy = functools.partial(size_based_auto_wrap_policy, min_num_params=100)
half = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
model = FSDP(plain, auto_wrap_policy=policy, mixed_precision=half, device_id=0)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for points, classes in one_gpu.batches(rank, world):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(points).float(), classes).backward()
    optimizer.step()
print(sorted(model.state_dict()))
dist.barrier()
dist.destroy_process_group()
