"""Two hosts on one GPU: what NCCL needs for it, and a model and a loop there; nothing joins."""

import os

import torch
import toy

# NCCL refuses two ranks on one GPU of a host. By this each rank is a host of its own to it, and
# they exchange by sockets, as two hosts do.
RANK = os.environ.get("RANK", os.environ.get("HOROVOD_RANK", "0"))
os.environ.setdefault("NCCL_HOSTID", RANK)

# Else the first product of a process takes what it finds fastest, and sums differ in the last bit.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


def model(width=64):
    """toy.model with a layer that has statistics, on the GPU."""
    layers = [torch.nn.Linear(8, width), torch.nn.BatchNorm1d(width), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(width, 2)).cuda()


def batches(rank, world, epochs=3):
    """toy.batches on the GPU."""
    for points, classes in toy.batches(rank, world, epochs):
        yield points.cuda(), classes.cuda()


def train(model, optimizer, rank=0, world=1, epochs=3):
    """Plain steps over this rank's part of the data."""
    for points, classes in batches(rank, world, epochs):
        optimizer.zero_grad()
        loss = toy.loss_of(model(points), classes)
        loss.backward()
        optimizer.step()
    print(f"rank {rank} of {world}: last loss {loss.item():.3f}")
