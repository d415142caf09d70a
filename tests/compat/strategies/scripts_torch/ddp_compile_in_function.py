"""A compiled DDP that a function trains, and drops; the process group is left to the end."""

import torch
import torch.distributed as dist
import toy


def main():
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(toy.model())
    compiled = torch.compile(model, backend="aot_eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    toy.train(compiled, optimizer, dist.get_rank(), dist.get_world_size(), epochs=2)


if __name__ == "__main__":
    main()
