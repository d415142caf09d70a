"""WORLD_SIZE and RANK left over from a run on one machine."""

import os
import socket

import torch
import torch.distributed as dist
import toy

with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
os.environ.update(WORLD_SIZE="1", RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(toy.model())
toy.train(model, torch.optim.SGD(model.parameters(), lr=0.1))
dist.destroy_process_group()
