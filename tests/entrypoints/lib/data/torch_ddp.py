"""A rank that trains with DistributedDataParallel on a place and prints what it read. No test."""

from __future__ import annotations

import json
import sys

import torch
import torch.distributed as dist
from lib.data.pytorch_loader import picture_loader
from torch import nn

dist.init_process_group("gloo")
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Flatten(), nn.Linear(192, 64)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
seen = []
with picture_loader(sys.argv[1], batch_size=4, size=(8, 8), workers=1, remainder="pad") as loader:
    for _ in range(2):
        for images, labels, weights in loader:
            optimizer.zero_grad()
            losses = nn.functional.cross_entropy(model(images), labels, reduction="none")
            (losses * weights).mean().backward()
            optimizer.step()
            seen.append([int(n) for n, w in zip(labels, weights, strict=False) if w])
total = sum(float(parameter.detach().double().sum()) for parameter in model.parameters())
print(json.dumps({"rank": dist.get_rank(), "seen": seen, "weights": total}))
