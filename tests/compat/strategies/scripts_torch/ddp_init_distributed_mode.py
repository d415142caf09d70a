"""A helper that joins where RANK and WORLD_SIZE are set, silences print on the other ranks and
wraps the model only then."""

import builtins
import os

import torch
import torch.distributed as dist
import toy


def setup_for_distributed(is_main):
    shown = builtins.print

    def show(*words, force=False, **named):
        if is_main or force:
            shown(*words, **named)

    builtins.print = show


def init_distributed_mode():
    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        print("Not using distributed mode")
        return False
    dist.init_process_group(backend="gloo", init_method="env://")
    dist.barrier()
    setup_for_distributed(dist.get_rank() == 0)
    return True


def main():
    distributed = init_distributed_mode()
    model = without_ddp = toy.model()
    if distributed:
        model = torch.nn.parallel.DistributedDataParallel(model)
        without_ddp = model.module
    optimizer = torch.optim.SGD(without_ddp.parameters(), lr=0.1)
    toy.train(model, optimizer, dist.get_rank(), dist.get_world_size())
    if dist.get_rank() == 0:
        torch.save({"model": without_ddp.state_dict()}, "checkpoint.pt")


if __name__ == "__main__":
    main()
