"""deepspeed.initialize with the state of the optimizer over the ranks (stage 1)."""

import deepspeed
import torch
import toy

deepspeed.init_distributed(dist_backend="gloo")
model = toy.model()
settings = {
    "train_micro_batch_size_per_gpu": 16,
    "zero_optimization": {"stage": 1},
    "zero_allow_untested_optimizer": True,
    "zero_force_ds_cpu_optimizer": False,
}
engine, _, _, _ = deepspeed.initialize(
    model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), config=settings
)
rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
for points, classes in toy.batches(rank, world, size=16):
    loss = toy.loss_of(engine(points), classes)
    engine.backward(loss)
    engine.step()
