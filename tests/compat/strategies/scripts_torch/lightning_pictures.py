"""Our LightningDataModule under ddp: every picture once an epoch, and a run that goes on."""

import io
import os
import sys

import lightning as pl
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
import torch.distributed as dist
from PIL import Image
from torch import nn

sys.path.insert(0, os.environ["ENTRYPOINTS"])
from lib.data.lightning import PictureDataModule

PICTURES, CLASSES = 61, 64
HOSTS, RANKS = int(os.environ["GROUP_WORLD_SIZE"]), int(os.environ["LOCAL_WORLD_SIZE"])


def write(folder, count):
    """Pictures whose labels tell them apart."""
    os.makedirs(folder, exist_ok=True)
    content = []
    for number in range(count):
        buffer = io.BytesIO()
        pixels = np.random.RandomState(number).randint(0, 256, (16, 16, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(buffer, "PNG")
        content.append(buffer.getvalue())
    columns = {
        "label": pa.array(range(count), pa.int64()),
        "content": pa.array(content, pa.binary()),
    }
    part = os.path.join(folder, f"part-{os.getpid()}")
    pq.write_table(pa.table(columns), part, row_group_size=5)
    os.replace(part, os.path.join(folder, "part.parquet"))


class Classifier(pl.LightningModule):
    """One layer; remembers by their labels which pictures each step has seen."""

    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, CLASSES))
        self.seen, self.checked, self.told = [], [], []

    def training_step(self, batch, index):
        images, labels, weights = batch
        self.seen.append([n for n, w in zip(labels.tolist(), weights.tolist(), strict=False) if w])
        losses = nn.functional.cross_entropy(self.model(images), labels, reduction="none")
        return (losses * weights).mean()

    def validation_step(self, batch, index):
        images, labels, weights = batch
        self.checked += [n for n, w in zip(labels.tolist(), weights.tolist(), strict=False) if w]
        right = (self.model(images).argmax(1) == labels).float()
        self.log("right", (right * weights).sum() / weights.sum().clamp(min=1), sync_dist=True)

    def predict_step(self, batch, index):
        self.told += [n for n, w in zip(batch[1].tolist(), batch[2].tolist(), strict=False) if w]

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Keep(pl.Callback):
    """Writes a checkpoint after that step."""

    def __init__(self, step, path):
        self.step, self.path = step, path

    def on_train_batch_end(self, trainer, *_):
        if trainer.global_step == self.step:
            trainer.save_checkpoint(self.path)


def trained(place, workers, checkpoint=None, **limits):
    """A model after training, its Trainer and its data."""
    model = Classifier()
    data = PictureDataModule(place, batch_size=4, size=(8, 8), workers=workers, remainder="pad")
    trainer = pl.Trainer(
        accelerator="cpu",
        devices=RANKS,
        num_nodes=HOSTS,
        strategy="ddp",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **limits,
    )
    trainer.fit(model, data, ckpt_path=checkpoint)
    return model, trainer, data


def together(numbers):
    """All ranks' numbers, sorted."""
    everything = [None] * dist.get_world_size()
    dist.all_gather_object(everything, numbers)
    return sorted(number for one in everything for number in one)


def flat(steps):
    return [number for step in steps for number in step]


def main():
    folder = os.path.join(os.environ["HOME"], f"host-{os.environ['GROUP_RANK']}")
    place = os.path.join(folder, "place")
    for split, count in (("train", PICTURES), ("validation", 13), ("test", 11)):
        write(os.path.join(place, split), count)

    model, trainer, data = trained(place, workers=2, max_epochs=2)
    steps = len(model.seen) // 2
    for epoch in (model.seen[:steps], model.seen[steps:]):
        assert together(flat(epoch)) == list(range(PICTURES)), together(flat(epoch))
    # The sanity check has seen two batches of each rank beforehand.
    assert together(model.checked)[::1].count(12) >= 2
    trainer.predict(model, data)
    assert together(model.told) == list(range(11)), together(model.told)

    # A checkpoint in the middle of the second epoch, and what goes on from there.
    half = os.path.join(folder, "half.ckpt")
    keep = Keep(steps + 3, half)
    before, trainer, _ = trained(place, workers=2, max_epochs=2, callbacks=[keep])
    assert before.seen == model.seen
    after, trainer, _ = trained(
        place, workers=2, checkpoint=shared(half), max_epochs=2, num_sanity_val_steps=0
    )
    assert after.seen == model.seen[steps + 3 :], (after.seen, model.seen[steps + 3 :])
    # With other workers other batches, the same pictures.
    other, _, _ = trained(place, workers=0, checkpoint=shared(half), max_epochs=2)
    assert together(flat(other.seen)) == together(flat(after.seen))

    # A limit cuts an epoch; the next one is another.
    cut, _, _ = trained(place, workers=0, max_epochs=3, limit_train_batches=2)
    assert len(cut.seen) == 6
    assert trainer.world_size == HOSTS * RANKS
    print("trained")


def shared(path):
    """Rank 0's: hosts on one machine share it."""
    return path.replace(f"host-{os.environ['GROUP_RANK']}", "host-0")


if __name__ == "__main__":
    main()
