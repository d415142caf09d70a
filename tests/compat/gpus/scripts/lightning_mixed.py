"""Lightning's Trainer on GPUs, half precision, told of as many nodes as the job has."""

import os

import lightning as pl
import one_gpu  # noqa: F401 - gives each rank a host of its own
import torch
import toy
from torch.utils.data import DataLoader


class Classifier(pl.LightningModule):
    """Two layers, their loss, SGD."""

    def __init__(self):
        super().__init__()
        self.model = toy.model()

    def training_step(self, batch, index):
        points, classes = batch
        loss = toy.loss_of(self.model(points), classes)
        self.log("loss", loss, sync_dist=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main():
    trainer = pl.Trainer(
        accelerator="gpu",
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        num_nodes=int(os.environ["GROUP_WORLD_SIZE"]),
        strategy="ddp",
        precision="16-mixed",
        max_epochs=2,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Classifier(), DataLoader(toy.data(), batch_size=32))


if __name__ == "__main__":
    main()
