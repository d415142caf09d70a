"""A hook that sends gradients in half precision, then one of the script's own."""

import torch
import torch.distributed as dist
import toy
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel as DDP


def mean(group, bucket):
    summed = dist.all_reduce(bucket.buffer() / group.size(), group=group, async_op=True)
    return summed.get_future().then(lambda future: future.value()[0])


dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
for hook, state in ((default_hooks.fp16_compress_hook, None), (mean, dist.group.WORLD)):
    model = DDP(toy.model())
    model.register_comm_hook(state, hook)
    toy.train(model, torch.optim.SGD(model.parameters(), lr=0.1), rank, world)
dist.destroy_process_group()
