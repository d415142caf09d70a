"""Fabric: a loop of one's own, wrapped by setup."""

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
model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.1))
for points, classes in fabric.setup_dataloaders(DataLoader(toy.data(), batch_size=32)):
    optimizer.zero_grad()
    fabric.backward(toy.loss_of(model(points), classes))
    optimizer.step()
fabric.print("trained")
