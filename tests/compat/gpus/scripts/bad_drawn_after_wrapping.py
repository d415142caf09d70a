"""Draws the weights anew once the model is wrapped: ranks step alike, from different places."""

import one_gpu
import torch
import torch.distributed as dist

rank, world = one_gpu.join()
plain = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2)).cuda()
model = torch.nn.parallel.DistributedDataParallel(plain, device_ids=[0])
for layer in (plain[0], plain[2]):
    layer.reset_parameters()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
one_gpu.train(model, optimizer, rank, world)
dist.destroy_process_group()
