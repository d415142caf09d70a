"""A main function under torch elastic's @record, the group made over a timeout of its own."""

import datetime

import torch
import torch.distributed as dist
import toy
from torch.distributed.elastic.multiprocessing.errors import record


@record
def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
    model = torch.nn.parallel.DistributedDataParallel(toy.model())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    toy.train(model, optimizer, dist.get_rank(), dist.get_world_size())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
