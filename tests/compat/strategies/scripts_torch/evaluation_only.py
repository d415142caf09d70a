"""Every rank measures its part of the data, nothing is trained."""

import torch
import torch.distributed as dist
import toy

dist.init_process_group("gloo")
torch.manual_seed(0)
model = toy.model().eval()
right = torch.zeros(2)
with torch.no_grad():
    for points, classes in toy.batches(dist.get_rank(), dist.get_world_size(), epochs=1):
        right += torch.tensor([(model(points).argmax(1) == classes).sum(), len(points)])
dist.all_reduce(right)
print(f"accuracy {right[0] / right[1]:.2f}")
dist.destroy_process_group()
