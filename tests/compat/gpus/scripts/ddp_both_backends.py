"""Gloo for tensors on the CPU, NCCL for those on the GPU; gradients travel in bfloat16."""

import one_gpu
import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

rank, world = one_gpu.join("cpu:gloo,cuda:nccl")
model = torch.nn.parallel.DistributedDataParallel(one_gpu.model(), device_ids=[0])
model.register_comm_hook(None, default_hooks.bf16_compress_hook)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, fused=True)
one_gpu.train(model, optimizer, rank, world)
seen = torch.tensor([float(rank)])
dist.all_reduce(seen)  # on the CPU
print(f"ranks add up to {seen.item():.0f}")
dist.destroy_process_group()
