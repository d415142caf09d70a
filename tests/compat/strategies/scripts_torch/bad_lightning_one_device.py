"""A Trainer of one device that was not told of the other nodes."""

import lightning as pl
import torch
import toy
from torch.utils.data import DataLoader


class Classifier(pl.LightningModule):
    """Two layers, their loss, SGD."""

    def __init__(self):
        super().__init__()
        self.model = toy.model()

    def training_step(self, batch, index):
        return toy.loss_of(self.model(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


trainer = pl.Trainer(
    accelerator="cpu", devices=1, max_epochs=2, logger=False, enable_progress_bar=False
)
trainer.fit(Classifier(), DataLoader(toy.data(), batch_size=32))
