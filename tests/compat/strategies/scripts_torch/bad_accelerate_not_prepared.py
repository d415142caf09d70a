"""An Accelerator whose prepare never sees the model."""

import torch
import toy
from accelerate import Accelerator
from torch.utils.data import DataLoader

accelerator = Accelerator(cpu=True)
model = toy.model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer, loader = accelerator.prepare(optimizer, DataLoader(toy.data(), batch_size=32))
for points, classes in loader:
    optimizer.zero_grad()
    accelerator.backward(toy.loss_of(model(points), classes))
    optimizer.step()
accelerator.wait_for_everyone()
