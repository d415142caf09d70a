"""What the training script asks of a data set, whatever its kind.

A data set knows its pictures and divides them; a course is one rank's way through them from a
start. A new kind is a class with these members and a line in ``kinds`` and ``sources``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ContextManager, Iterator, Mapping, Protocol

from .division import DROP, Division


@dataclass(frozen=True)
class Part:
    """Which part of the data one rank trains on.

    Attributes:
        rank: Of the reader.
        world_size: Ranks that share an epoch.
        batch_size: Samples of a full step of a rank.
        seed: Of the order.
        remainder: What happens to samples that do not divide: ``drop`` leaves fewer than
            ``world_size`` unread in an epoch; ``pad`` repeats samples with weight 0; ``uneven``
            lets ranks have one sample more than others. Every rank takes the same number of steps
            in all three: a rank that has no sample left takes one of weight 0. (Horovod's ``join``
            would average over ranks that have nothing.)
        max_steps: Cuts the epochs; None reads all.
    """

    rank: int
    world_size: int
    batch_size: int
    seed: int
    remainder: str = DROP
    max_steps: int | None = None

    def division(self, **more: Any) -> Division:
        """The same as the loader says it."""
        return Division(
            ranks=self.world_size,
            batch_size=self.batch_size,
            remainder=self.remainder,
            **more,
        )


class Course(Protocol):
    """One rank's way through the training pictures from a start; all ranks' ways are in step."""

    @property
    def first_steps(self) -> int:
        """Steps to the end of the epoch in which it starts; the same on every rank."""

    @property
    def steps(self) -> int:
        """Steps of every other epoch; the same on every rank."""

    def batches(self, epochs: int, first: int = 0) -> Any:
        """A tf.data.Dataset of the batches of ``epochs`` epochs, from the one numbered ``first``.

        ``first`` counts from the start: 0 is the epoch in which that lies, which has
        ``first_steps`` batches. Batches are (float32 pixels, int64 labels), and float32 weights
        behind them where ``remainder`` is not ``drop``; the weights are such that the mean over
        the ranks of Keras's mean over a batch is the mean over all samples of the step.
        """

    def arrays(self, epochs: int, first: int = 0) -> Iterator[tuple[Any, ...]]:
        """The same batches without TensorFlow, of the same samples in the same order: (uint8 or
        float32 pixels (n, rows, columns, channels), int64 labels), and float32 weights where
        there are some. Blocks while pictures are read."""

    def state(self, epochs: int, steps: int) -> Mapping[str, Any]:
        """Where training stands ``epochs`` whole epochs and ``steps`` steps after the start.

        Plain values for a checkpoint, from which ``DataSet.course`` goes on, in any world.
        """


class DataSet(Protocol):
    """Pictures to train and to test on."""

    @property
    def name(self) -> str:
        """Its kind, as on the command line."""

    @property
    def origin(self) -> str:
        """Where it was found, for people."""

    @property
    def classes(self) -> int:
        """Number of classes."""

    @property
    def brightest(self) -> int:
        """The value of a white pixel."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, columns, channels) of the pictures that the model gets."""

    @property
    def training_count(self) -> int:
        """Samples of an epoch."""

    @property
    def test_count(self) -> int:
        """Samples to test on."""

    def fingerprint(self) -> tuple[int, ...]:
        """Numbers that are the same where the data is; the first two are its counts."""

    def course(self, part: Part, start: Mapping[str, Any] | None) -> Course:
        """The way from ``start``, which ``Course.state`` gave; from the beginning for None.

        Raises:
            TrainingError: The start is in other data.
        """

    def test_batches(self, rank: int, world_size: int, batch_size: int) -> Any:
        """This rank's batches (float32 pixels, int64 labels); over all ranks each sample once."""

    def test_arrays(self, rank: int, world_size: int, batch_size: int) -> Iterator[tuple[Any, Any]]:
        """The same as NumPy arrays; see ``Course.arrays``."""

    def explaining(self) -> ContextManager[None]:
        """Around what reads batches: an error of theirs becomes a TrainingError with the picture
        that cannot be read, where there is one."""
