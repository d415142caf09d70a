"""A Trainer class with a snapshot that it resumes from, under DDP."""

import os

import torch
import torch.nn.functional as F
import toy
from torch.distributed import destroy_process_group, init_process_group
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


class Trainer:
    """Epochs over this rank's part of the data; rank 0 saves."""

    def __init__(self, model, loader, optimizer, snapshot):
        self.rank = int(os.environ["RANK"])
        self.loader, self.optimizer, self.snapshot = loader, optimizer, snapshot
        self.first_epoch = 0
        if os.path.exists(snapshot):
            kept = torch.load(snapshot, weights_only=True)
            model.load_state_dict(kept["model"])
            self.first_epoch = kept["epoch"] + 1
        self.model = DistributedDataParallel(model)

    def batch(self, points, classes):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(points), classes)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def train(self, epochs):
        for epoch in range(self.first_epoch, epochs):
            self.loader.sampler.set_epoch(epoch)
            loss = [self.batch(*batch) for batch in self.loader][-1]
            print(f"rank {self.rank}, epoch {epoch}: loss {loss:.3f}")
            if self.rank == 0:
                state = {"model": self.model.module.state_dict(), "epoch": epoch}
                torch.save(state, self.snapshot)


def main():
    init_process_group(backend="gloo")
    data, model = toy.data(), toy.model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(data, batch_size=32, shuffle=False, sampler=DistributedSampler(data))
    Trainer(model, loader, optimizer, "snapshot.pt").train(3)
    destroy_process_group()


if __name__ == "__main__":
    main()
