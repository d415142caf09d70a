"""LightningCLI: model and data as classes, everything else as arguments."""

import os
import sys

import lightning as pl
import torch
import toy
from lightning.pytorch.cli import LightningCLI
from torch.utils.data import DataLoader


class Classifier(pl.LightningModule):
    """Two layers of ``width``."""

    def __init__(self, width: int = 16, rate: float = 0.1):
        super().__init__()
        self.model, self.rate = toy.model(width), rate

    def training_step(self, batch, index):
        return toy.loss_of(self.model(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.rate)


class Points(pl.LightningDataModule):
    """The made-up points, in batches of ``size``."""

    def __init__(self, size: int = 32):
        super().__init__()
        self.size = size

    def train_dataloader(self):
        return DataLoader(toy.data(), batch_size=self.size)


if __name__ == "__main__":
    hosts, ranks = os.environ["GROUP_WORLD_SIZE"], os.environ["LOCAL_WORLD_SIZE"]
    words = ["fit", "--trainer.accelerator=cpu", "--trainer.strategy=ddp"]
    words += [f"--trainer.devices={ranks}", f"--trainer.num_nodes={hosts}"]
    words += ["--trainer.max_epochs=2", "--trainer.logger=false"]
    words += ["--trainer.enable_progress_bar=false", *sys.argv[1:]]
    LightningCLI(Classifier, Points, args=words, save_config_callback=None)
