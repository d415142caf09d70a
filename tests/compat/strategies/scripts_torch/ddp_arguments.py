"""Group from arguments that default to the variables of the ranks, a tcp:// address, meters that
are reduced over all ranks."""

import argparse
import os

import torch
import torch.distributed as dist
import toy


class Meter:
    """A mean over all ranks."""

    def __init__(self):
        self.sum = self.count = 0.0

    def update(self, value, count):
        self.sum, self.count = self.sum + value * count, self.count + count

    def all_reduce(self):
        total = torch.tensor([self.sum, self.count])
        dist.all_reduce(total)
        return (total[0] / total[1]).item()


def arguments():
    address = "tcp://{MASTER_ADDR}:{MASTER_PORT}".format(**os.environ)
    parser = argparse.ArgumentParser()
    parser.add_argument("--world-size", type=int, default=int(os.environ["WORLD_SIZE"]))
    parser.add_argument("--rank", type=int, default=int(os.environ["RANK"]))
    parser.add_argument("--dist-url", default=address)
    parser.add_argument("--dist-backend", default="gloo")
    return parser.parse_args()


def main():
    args = arguments()
    dist.init_process_group(
        args.dist_backend, init_method=args.dist_url, world_size=args.world_size, rank=args.rank
    )
    model = torch.nn.parallel.DistributedDataParallel(toy.model())
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
    losses = Meter()
    for _epoch in range(3):
        for points, classes in toy.batches(args.rank, args.world_size, epochs=1):
            loss = toy.loss_of(model(points), classes)
            losses.update(loss.item(), len(points))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
    print(f"loss over all ranks {losses.all_reduce():.3f}")


if __name__ == "__main__":
    main()
