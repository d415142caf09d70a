"""What the speed tables train: a model, pictures of a size, and how many steps of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tests.entrypoints.lib.mnist_format import write_data_set

STORED_SIDE, CLASSES, TEST_PICTURES = 28, 10, 20
RANKS = 2


@dataclass(frozen=True)
class Work:
    """One training.

    Attributes:
        model: As ``--model`` of the shared scripts.
        side: Pixels a side that the model sees.
        pictures: Of an epoch of all ranks together; a whole number of steps for each.
        batch: Of a rank.
        epochs: The first one warms up and is in no figure.
    """

    model: str
    side: int
    pictures: int
    batch: int
    epochs: int

    @property
    def title(self) -> str:
        """For a table's heading."""
        return f"{self.model} at {self.side} x {self.side}, batch {self.batch} a rank"

    def arguments(self, data: Path, pictures: int = 0) -> list[str]:
        """Of a shared script.

        Args:
            data: The folder that :func:`write_pictures` filled.
            pictures: Of an epoch; 0 for all.
        """
        words = ["--data", f"mnist-files:{data}", "--model", self.model, "--seed", "1"]
        words += ["--limit", str(pictures or self.pictures), "--epochs", str(self.epochs)]
        words += ["--batch-size", str(self.batch), "--keep-checkpoints", "1"]
        return words + (["--image-size", str(self.side)] if self.side != STORED_SIDE else [])


WORKS = {
    "cnn": Work("cnn", STORED_SIDE, 6016, 64, 8),
    "resnet50": Work("resnet50", 224, 64, 8, 3),
    "efficientnetb0": Work("efficientnetb0", 224, 128, 8, 4),
}


@dataclass(frozen=True)
class Asked:
    """What the command line asked of a speed table.

    Attributes:
        pairs: Rounds that count.
        model: One of WORKS.
        rows: Of the table of pairs; all where it is empty.
        read: A timeline to read instead of one that is made.
        picture: Where the timeline's picture is written to.
        smoke: Whether to train next to nothing.
        batch: Of a rank; 0 for the work's own.
    """

    pairs: int = 9
    model: str = "cnn"
    rows: Sequence[str] = ()
    read: Path | None = None
    picture: Path | None = None
    smoke: bool = False
    batch: int = 0

    @property
    def work(self) -> Work:
        """What is trained."""
        work = WORKS[self.model]
        if self.batch:
            steps = max(1, work.pictures // (self.batch * RANKS))
            work = replace(work, batch=self.batch, pictures=steps * self.batch * RANKS)
        if not self.smoke:
            return work
        return replace(work, side=min(work.side, 32), pictures=16 * RANKS, batch=8, epochs=2)


def write_pictures(folder: Path, count: int) -> None:
    """``count`` grey pictures of noise in MNIST's format: a step takes as long as on any other."""
    random = np.random.default_rng(0)

    def split(number: int) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
        images = random.integers(0, 256, (number, STORED_SIDE, STORED_SIDE), np.uint8)
        return images, random.integers(0, CLASSES, number, np.uint8)

    write_data_set(folder, split(count), split(TEST_PICTURES))
