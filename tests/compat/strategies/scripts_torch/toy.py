"""Small made-up data, a model and a plain loop for the scripts beside; nothing is distributed."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


def data(count=256):
    """Points of 8 numbers with the sign of their sum as class; the same in every process."""
    draw = torch.Generator().manual_seed(7)
    points = torch.randn(count, 8, generator=draw)
    return TensorDataset(points, (points.sum(1) > 0).long())


def model(width=16):
    """A model with start weights of its own in every process."""
    return nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 2))


def batches(rank=0, world=1, epochs=3, size=32):
    """Pairs of points and classes out of this rank's part of the data."""
    whole = data()
    part = Subset(whole, range(rank, len(whole), world))
    for _ in range(epochs):
        yield from DataLoader(part, batch_size=size, shuffle=True)


def loss_of(outputs, classes):
    """Cross entropy, a scalar."""
    return nn.functional.cross_entropy(outputs, classes)


def train(step_model, optimizer, rank=0, world=1, epochs=3):
    """Plain steps over this rank's part of the data."""
    for points, classes in batches(rank, world, epochs):
        optimizer.zero_grad()
        loss = loss_of(step_model(points), classes)
        loss.backward()
        optimizer.step()
    print(f"rank {rank} of {world}: last loss {loss.item():.3f}")
