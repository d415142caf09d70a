"""Whole steps as a CUDA graph: after the capture nothing of Python runs in a step."""

import one_gpu
import torch
import torch.distributed as dist
import toy

rank, world = one_gpu.join()
batch = next(iter(one_gpu.batches(rank, world)))
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    plain = torch.nn.Sequential(
        torch.nn.Linear(8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2)
    ).cuda()
    model = torch.nn.parallel.DistributedDataParallel(plain, device_ids=[0])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def step():
        optimizer.zero_grad(set_to_none=True)
        toy.loss_of(model(batch[0]), batch[1]).backward()
        optimizer.step()

    for _ in range(11):  # DDP asks for so many before a capture
        step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        step()
for points, classes in one_gpu.batches(rank, world, epochs=3):
    batch[0].copy_(points)
    batch[1].copy_(classes)
    graph.replay()
torch.cuda.synchronize()
del graph  # NCCL's communicator outlives no graph that has its kernels
dist.destroy_process_group()
