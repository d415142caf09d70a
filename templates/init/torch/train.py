"""A small DistributedDataParallel training on made-up data, one shard a rank."""

import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--lr", type=float, default=0.05)
arguments = parser.parse_args()

# Who the ranks are and where they meet stands in the environment, as under torchrun.
dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
local_rank = int(os.environ["LOCAL_RANK"])
device = torch.device("cuda", local_rank) if torch.cuda.is_available() else torch.device("cpu")

# The same data on every rank, of which the sampler gives each a part of its own.
torch.manual_seed(0)
inputs = torch.randn(2048, 16)
labels = (inputs[:, :8].sum(1) > inputs[:, 8:].sum(1)).long()
data = TensorDataset(inputs, labels)
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=32, sampler=sampler)

layers = torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2)
model = DistributedDataParallel(torch.nn.Sequential(*layers).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=arguments.lr, momentum=0.9)

for epoch in range(arguments.epochs):
    sampler.set_epoch(epoch)
    right = torch.zeros(2, device=device)
    for batch, wanted in loader:
        batch, wanted = batch.to(device), wanted.to(device)
        found = model(batch)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(found, wanted).backward()
        optimizer.step()
        right[0] += (found.argmax(1) == wanted).sum()
        right[1] += len(wanted)
    dist.all_reduce(right)
    if dist.get_rank() == 0:
        print(f"epoch {epoch + 1}: accuracy {float(right[0] / right[1]):.3f}")

if dist.get_rank() == 0:
    path = os.path.join(os.environ.get("LAUNCH_MODEL_DIR", "."), "model.pt")
    torch.save(model.module.state_dict(), path)
    print("model saved in", path)
dist.destroy_process_group()
