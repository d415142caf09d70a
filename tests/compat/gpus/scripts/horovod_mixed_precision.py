"""torch.amp as Horovod's documentation has it: synchronised by hand before they are unscaled."""

import horovod.torch as hvd
import one_gpu_horovod as one_gpu
import torch
import toy

rank, world = one_gpu.join()
model = one_gpu.model()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
optimizer = one_gpu.wrapped(model, optimizer)
# So large that the first steps overflow and are left out, by all ranks alike.
scaler = torch.amp.GradScaler("cuda", init_scale=2.0**40)
for points, classes in one_gpu.batches(rank, world, epochs=8):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = toy.loss_of(model(points), classes)
    scaler.scale(loss).backward()
    optimizer.synchronize()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    with optimizer.skip_synchronize():
        scaler.step(optimizer)
    scaler.update()
print(f"scale at the end: {scaler.get_scale():.0f}")
hvd.shutdown()
