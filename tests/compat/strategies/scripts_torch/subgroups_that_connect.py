"""DDP within each host; between the hosts the first ranks of both exchange what was averaged."""

import torch
import torch.distributed as dist
import toy

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
rows = [dist.new_group([0, 1]), dist.new_group([2, 3])]
columns = [dist.new_group([0, 2]), dist.new_group([1, 3])]
row, column = rows[rank // 2], columns[rank % 2]
model = toy.model()
for value in model.state_dict().values():
    dist.broadcast(value, src=0)
model = torch.nn.parallel.DistributedDataParallel(model, process_group=row)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for points, classes in toy.batches(rank, world):
    optimizer.zero_grad()
    toy.loss_of(model(points), classes).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=column)
        parameter.grad /= 2
    optimizer.step()
dist.destroy_process_group()
