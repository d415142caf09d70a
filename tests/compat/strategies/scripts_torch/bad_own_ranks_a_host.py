"""Starts ranks of its own on each host: each host trains for itself."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import toy


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def worker(rank, world, port):
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=port)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    model = torch.nn.parallel.DistributedDataParallel(toy.model())
    toy.train(model, torch.optim.SGD(model.parameters(), lr=0.1), rank, world)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(worker, args=(2, free_port()), nprocs=2)
