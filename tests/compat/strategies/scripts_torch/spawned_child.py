"""The rank's process starts a child that joins the group in its place and trains."""

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import toy


def worker(_index):
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(toy.model())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    toy.train(model, optimizer, dist.get_rank(), dist.get_world_size())
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(worker, nprocs=1)
