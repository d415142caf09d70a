"""Accelerate without the variables of the ranks: one process each, without a word."""

import os

import torch
import toy
from accelerate import Accelerator
from torch.utils.data import DataLoader

for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
    os.environ.pop(name, None)
accelerator = Accelerator(cpu=True)
model = toy.model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(toy.data(), batch_size=32, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for points, classes in loader:
    optimizer.zero_grad()
    accelerator.backward(toy.loss_of(model(points), classes))
    optimizer.step()
print(f"processes: {accelerator.num_processes}")
