"""torch.amp: half precision in the forward pass, a gradient scaler that skips steps."""

import one_gpu
import torch
import torch.distributed as dist
import toy

rank, world = one_gpu.join()
model = torch.nn.parallel.DistributedDataParallel(one_gpu.model(), device_ids=[0])
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
# So large that the first steps overflow and are left out, by all ranks alike.
scaler = torch.amp.GradScaler("cuda", init_scale=2.0**40)
for points, classes in one_gpu.batches(rank, world, epochs=8):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = toy.loss_of(model(points), classes)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
print(f"scale at the end: {scaler.get_scale():.0f}")
dist.destroy_process_group()
