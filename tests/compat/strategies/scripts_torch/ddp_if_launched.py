"""One script for a single process and for ranks: what is in the environment decides, gradients are
accumulated by switching DDP's exchange off between the steps."""

import os

import torch
import toy
from torch.distributed import destroy_process_group, init_process_group
from torch.nn.parallel import DistributedDataParallel as DDP

ACCUMULATED = 4
ddp = int(os.environ.get("RANK", -1)) != -1
rank, world = 0, 1
if ddp:
    init_process_group(backend="gloo")
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.manual_seed(1337 + rank)
model = toy.model()
if ddp:
    model = DDP(model)
raw_model = model.module if ddp else model
optimizer = torch.optim.AdamW(raw_model.parameters(), lr=0.01)
for index, (points, classes) in enumerate(toy.batches(rank, world, epochs=4)):
    last = index % ACCUMULATED == ACCUMULATED - 1
    if ddp:
        model.require_backward_grad_sync = last
    loss = toy.loss_of(model(points), classes) / ACCUMULATED
    loss.backward()
    if last:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
print(f"rank {rank} of {world}: last loss {loss.item() * ACCUMULATED:.3f}")
if ddp:
    destroy_process_group()
