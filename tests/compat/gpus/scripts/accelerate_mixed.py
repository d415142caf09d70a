"""Accelerator with bfloat16, accumulated gradients and gathered metrics."""

import one_gpu  # noqa: F401 - gives each rank a host of its own
import torch
import toy
from accelerate import Accelerator
from torch.utils.data import DataLoader

accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2)
model, optimizer = toy.model(), None
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
loader = DataLoader(toy.data(), batch_size=16, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for _ in range(2):
    for points, classes in loader:
        with accelerator.accumulate(model):
            accelerator.backward(toy.loss_of(model(points), classes))
            optimizer.step()
            optimizer.zero_grad()
print(accelerator.device, accelerator.gather(torch.ones(1, device=accelerator.device)).sum().item())
accelerator.end_training()
