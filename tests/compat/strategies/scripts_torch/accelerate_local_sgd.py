"""Accelerate's LocalSGD: every rank by itself, the weights averaged every few steps."""

import torch
import toy
from accelerate import Accelerator
from accelerate.local_sgd import LocalSGD
from torch.utils.data import DataLoader

accelerator = Accelerator(cpu=True)
model = toy.model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(toy.data(), batch_size=16, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=4, enabled=True) as local_sgd:
    for _epoch in range(2):
        for points, classes in loader:
            accelerator.backward(toy.loss_of(model(points), classes))
            optimizer.step()
            optimizer.zero_grad()
            local_sgd.step()
accelerator.end_training()
