"""DataParallel: the GPUs of one process, and no group."""

import torch
import toy

model = torch.nn.DataParallel(toy.model())
toy.train(model, torch.optim.SGD(model.parameters(), lr=0.1))
