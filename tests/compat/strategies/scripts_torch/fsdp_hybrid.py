"""Sharded within a row of a device mesh, replicated over the rows (HSDP)."""

import torch
import torch.distributed as dist
import toy
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import ShardingStrategy

mesh = init_device_mesh("cpu", (2, 2))
model = FSDP(
    toy.model(64),
    device_mesh=mesh,
    device_id=torch.device("cpu"),
    sharding_strategy=ShardingStrategy.HYBRID_SHARD,
)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
toy.train(model, optimizer, dist.get_rank(), dist.get_world_size())
dist.destroy_process_group()
