"""What a run tells: progress lines for people and launchers, and metrics.json for programs.

The launcher draws its bar from the progress lines, so their grammar is fixed:
``progress: epoch 1/3, step 20/22, 5120 images/s, loss 0.4123``, at an epoch's end with
``, accuracy 0.9312`` behind it.
"""

from __future__ import annotations

import json
import time
from typing import Any, Callable, Mapping

from . import storage
from .errors import TrainingError

SECONDS_BETWEEN_LINES = 1.0
METRICS_FILE = "metrics.json"


def say(line: str) -> None:
    """One line on standard output, at once."""
    print(line, flush=True)


class Progress:
    """The pace of training and the lines about it; one object a run, on rank 0.

    Rates are images a second of the whole job. The first step of a run compiles the model, so it
    counts for no rate.

    Args:
        epochs: Epochs of the whole run.
        steps: Steps of an epoch.
        samples_per_epoch: Training images that all ranks together read in an epoch.
        samples_per_step: The same of a full step.
        write: Takes a line.
        clock: Seconds, never going back.
    """

    def __init__(
        self,
        epochs: int,
        steps: int,
        samples_per_epoch: int,
        samples_per_step: int,
        write: Callable[[str], None] = say,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._epochs, self._steps = epochs, steps
        self._samples_per_epoch, self._samples_per_step = samples_per_epoch, samples_per_step
        self._write, self._clock = write, clock
        self._compiled = False
        self._last_line = clock()
        # (seconds, images of this epoch) from where the rate of the epoch, of the line, is taken.
        self._epoch_mark = self._line_mark = (self._last_line, 0)
        self._seconds = 0.0
        self._images = 0

    def epoch_begins(self, steps_before: int = 0) -> None:
        """Starts the epoch's clock; so many of its steps were done by an earlier run."""
        images = self._samples_per_step * steps_before
        self._epoch_mark = self._line_mark = (self._clock(), images)

    def step_ended(self, epoch: int, step: int, loss: Callable[[], float]) -> None:
        """After step ``step`` (from 1) of epoch ``epoch`` (from 1); writes a line when one is due.

        ``loss`` is asked for only then, since the answer may have to wait for a GPU.
        """
        if step == self._steps:
            return
        images = self._samples_per_step * step
        if not self._compiled:
            loss()
            self._compiled = True
            self._last_line = self._clock()
            self._epoch_mark = self._line_mark = (self._last_line, images)
        if self._clock() - self._last_line < SECONDS_BETWEEN_LINES:
            return
        value = loss()
        rate = self._rate(self._line_mark, images)
        self._line(epoch, step, rate, value)
        self._line_mark = (self._clock(), images)

    def epoch_ended(self, epoch: int, loss: float, accuracy: float) -> float:
        """After the last step of ``epoch`` (from 1): always a line.

        Args:
            epoch: Its number, from 1.
            loss: Averaged over ranks.
            accuracy: Averaged over ranks, 0 to 1.

        Returns:
            Images a second of the whole job in this epoch.
        """
        rate = self._rate(self._epoch_mark, self._samples_per_epoch)
        self._seconds += self._clock() - self._epoch_mark[0]
        self._images += self._samples_per_epoch - self._epoch_mark[1]
        self._compiled = True
        self._line(epoch, self._steps, rate, loss, accuracy)
        return rate

    @property
    def images_per_second(self) -> float:
        """Over all epochs of this run so far; 0 before the first has ended."""
        return self._images / self._seconds if self._seconds else 0.0

    def _rate(self, mark: tuple[float, int], images: int) -> float:
        return (images - mark[1]) / max(self._clock() - mark[0], 1e-9)

    def _line(
        self, epoch: int, step: int, rate: float, loss: float, accuracy: float | None = None
    ) -> None:
        line = (
            f"progress: epoch {epoch}/{self._epochs}, step {step}/{self._steps}, "
            f"{rate:.0f} images/s, loss {loss:.4f}"
        )
        self._write(line if accuracy is None else f"{line}, accuracy {accuracy:.4f}")
        self._last_line = self._clock()


def result_line(
    accuracy: float,
    loss: float,
    epochs: int,
    world_size: int,
    model: str | None,
    checkpoints: str | None,
    kept: int,
) -> str:
    """The run's last line; its beginning, ``result: test accuracy 0.9722``, is for programs."""
    parts = [
        f"result: test accuracy {accuracy:.4f}",
        f"test loss {loss:.4f}",
        "1 epoch" if epochs == 1 else f"{epochs} epochs",
        f"world size {world_size}",
        f"model in {model}" if model else "no model written",
    ]
    if checkpoints:
        count = "1 checkpoint" if kept == 1 else f"{kept} checkpoints"
        parts.append(f"{count} in {checkpoints}")
    else:
        parts.append("no checkpoints written")
    return ", ".join(parts)


def write_metrics(folder: str, metrics: Mapping[str, Any]) -> str:
    """Writes metrics.json into ``folder``, whole or not at all, and gives its path.

    Raises:
        TrainingError: The disk is full or the folder cannot be written.
    """
    path = storage.join(folder, METRICS_FILE)
    content = json.dumps(metrics, indent=2, sort_keys=True).encode("utf-8") + b"\n"
    try:
        storage.write_whole(path, content)
    except OSError as error:
        raise TrainingError(
            f"{path}: cannot be written: {error}. Make room there or give another folder with "
            "--model-dir."
        ) from error
    return path
