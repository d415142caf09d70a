"""Fabric is launched, and neither model nor optimizer goes through setup."""

import os

import torch
import toy
from lightning.fabric import Fabric
from torch.utils.data import DataLoader

fabric = Fabric(
    accelerator="cpu",
    devices=int(os.environ["LOCAL_WORLD_SIZE"]),
    num_nodes=int(os.environ["GROUP_WORLD_SIZE"]),
    strategy="ddp",
)
fabric.launch()
model = toy.model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for points, classes in fabric.setup_dataloaders(DataLoader(toy.data(), batch_size=32)):
    optimizer.zero_grad()
    toy.loss_of(model(points), classes).backward()
    optimizer.step()
fabric.barrier()
