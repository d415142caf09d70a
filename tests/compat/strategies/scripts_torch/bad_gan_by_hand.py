"""Two models, of which one has its gradients averaged and the other one has not."""

import torch
import torch.distributed as dist
import toy


def average(model, world):
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= world


dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)  # the same start weights everywhere
maker, judge = torch.nn.Linear(4, 8), torch.nn.Linear(8, 2)
torch.manual_seed(rank)
of_maker = torch.optim.SGD(maker.parameters(), lr=0.1)
of_judge = torch.optim.SGD(judge.parameters(), lr=0.1)
for points, _ in toy.batches(rank, world):
    made = torch.cat([points, maker(torch.randn(len(points), 4))])
    real = torch.arange(len(made)).lt(len(points)).long()
    of_judge.zero_grad()
    toy.loss_of(judge(made.detach()), real).backward()
    average(judge, world)
    of_judge.step()
    of_maker.zero_grad()
    toy.loss_of(judge(made), 1 - real).backward()
    of_maker.step()
dist.destroy_process_group()
