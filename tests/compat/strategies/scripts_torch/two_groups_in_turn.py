"""A group for a first training, destroyed, and another for a second one."""

import os
import socket

import torch
import torch.distributed as dist
import toy

for _phase in range(2):
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(toy.model())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    toy.train(model, optimizer, dist.get_rank(), dist.get_world_size())
    # Another port for the next one: on the same a rank may meet the store that rank 0 is ending.
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = torch.tensor([free.getsockname()[1]])
    dist.broadcast(port, 0)
    dist.destroy_process_group()
    os.environ["MASTER_PORT"] = str(port.item())
