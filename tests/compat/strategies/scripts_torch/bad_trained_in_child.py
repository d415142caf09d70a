"""Joins in a child process; the parent trains."""

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import toy


def join(_index):
    dist.init_process_group("gloo")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(join, nprocs=1)
    model = toy.model()
    toy.train(model, torch.optim.SGD(model.parameters(), lr=0.1))
