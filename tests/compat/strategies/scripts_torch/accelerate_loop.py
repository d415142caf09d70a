"""Accelerator.prepare around a plain loop, with accumulated gradients and gathered metrics."""

import torch
import toy
from accelerate import Accelerator
from torch.utils.data import DataLoader

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model = toy.model()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
loader = DataLoader(toy.data(), batch_size=16, shuffle=True)
schedule = torch.optim.lr_scheduler.ConstantLR(optimizer)
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
for epoch in range(2):
    model.train()
    for points, classes in loader:
        with accelerator.accumulate(model):
            loss = toy.loss_of(model(points), classes)
            accelerator.backward(loss)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    model.eval()
    right = []
    for points, classes in loader:
        with torch.no_grad():
            found = model(points).argmax(dim=-1)
        right.append((accelerator.gather_for_metrics(found == classes)).float())
    accelerator.print(f"epoch {epoch}: accuracy {torch.cat(right).mean():.2f}")
accelerator.wait_for_everyone()
if accelerator.is_main_process:
    accelerator.save(accelerator.unwrap_model(model).state_dict(), "model.pt")
accelerator.end_training()
