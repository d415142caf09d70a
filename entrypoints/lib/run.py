"""One run of a training script, from settings to result line; the same calls on every rank.

    with Run(settings, ranks, gpus) as run:
        ...a model, and a learner around it...
        run.restore(learner)
        for stretch in run.stretches():         # the rest of an epoch, then whole ones
            for epoch in stretch.epochs:
                run.epoch_begins(epoch)
                ...for each of stretch.steps batches: set run.rate, train, run.step_ended(loss)...
                run.epoch_ended(loss, accuracy, samples)
        run.finish(export)

It knows no framework: that is the script's, and beneath it ``learner.Learner``'s.
"""

from __future__ import annotations

import contextlib
import math
import time
from typing import Any, Callable, Iterator, Mapping

from . import progress, results, schedules
from .arguments import Settings
from .beginning import begin
from .checkpointing import Checkpointing
from .errors import TrainingError
from .learner import Learner
from .progress import Progress, say
from .ranks import Ranks
from .remaining import Stretch, remaining
from .results import Score
from .saved_state import SavedState

Export = Callable[[str], str]


class Run:
    """See the module.

    Args:
        settings: The command line.
        ranks: The ranks, started.
        gpus: GPUs that this rank uses; for metrics.json.
        arrays: Whether batches come as NumPy arrays; TensorFlow is then not imported.

    Attributes:
        settings: The command line; with ``--data augment:`` its scheduler is filled in, with
            ``--divide epochs`` it has this rank's.
        ranks: The ranks.
        data: What it trains on.
        plan: How an epoch divides into steps.
    """

    def __init__(self, settings: Settings, ranks: Ranks, gpus: int = 0, arrays: bool = False):
        self.settings, self.ranks, self._gpus, self._arrays = settings, ranks, gpus, arrays
        self._end = contextlib.ExitStack()
        self._seconds = 0.0
        self._epoch = self._step = 0
        self._validated: Score | None = None

    def __enter__(self) -> Run:
        """Gets folders, data and plan.

        Raises:
            TrainingError: Something stops the run before it begins.
            PeerEndedError: The same, on the ranks that have nothing to add.
        """
        with contextlib.ExitStack() as until_begun:
            until_begun.push(self._end.__exit__)
            found = begin(self.settings, self.ranks, self._arrays, self._end)
            until_begun.pop_all()
        self.settings, self.data, self.plan = found.settings, found.data, found.plan
        self._checkpoints, self._in_use = found.checkpoints, found.in_use
        self._models = found.models
        self._tracking = found.tracking
        return self

    def __exit__(self, *error: Any) -> bool | None:
        """Ends what the run has started."""
        return self._end.__exit__(*error)

    def restore(self, learner: Learner) -> None:
        """Puts the newest checkpoint, or rank 0's fresh weights, into all ranks' models.

        Raises:
            TrainingError: A checkpoint is damaged or another training's, or none would fit on
                the disk.
            PeerEndedError: The same, on the ranks that have nothing to add.
        """
        settings, ranks = self.settings, self.ranks
        self._learner = learner
        self._state = SavedState(
            settings, ranks, self.data, learner, self._checkpoints, self._in_use
        )
        ranks.on_first(self._state.check_space)
        self._state.restore()
        self._left = ranks.together(
            lambda: remaining(settings, ranks, self.data, self.plan, self._state)
        )
        self._tracking.begins()
        self._steps_done = self._state.steps_done
        self._rates = schedules.WarmUp(
            start=settings.learning_rate,
            target=schedules.scaled(settings.learning_rate, settings.lr_scaling, ranks.size),
            steps=settings.warmup_epochs * self.plan.steps,
        )
        self._progress = self._new_progress() if ranks.first else None
        self._checkpointing = Checkpointing(
            settings, ranks, learner, self._state, self.plan, self._left
        )
        self._end.enter_context(self._checkpointing)
        self._end.enter_context(self.data.explaining())
        if settings.validate and self._state.unvalidated:
            self._validated = self._evaluate(copies=0)
            if self._validated is not None:
                self._state.add_to_last_epoch(self._validated.of_validation())

    def _new_progress(self) -> Progress:
        settings, ranks = self.settings, self.ranks
        if settings.lr_scaling != "none":
            say(
                f"learning rate: {settings.learning_rate:g} scaled to {self._rates.target:g} for "
                f"{ranks.size} ranks (--lr-scaling {settings.lr_scaling})"
            )
        return Progress(
            settings.epochs,
            self.plan.steps,
            self.plan.images_per_epoch,
            settings.batch_size * ranks.size,
            told=lambda *line: self._tracking.on_the_way(self._steps_done, *line),
        )

    def stretches(self) -> Iterator[Stretch]:
        """What is left to train, in order; nothing where a checkpoint has all epochs."""
        first, end = self._state.epochs_done, self.settings.epochs
        if first >= end:
            return
        self._steps_before = self._left.steps_before
        began = time.monotonic()
        yield from self._left.stretches(first, end)
        self._seconds = time.monotonic() - began

    @property
    def epochs_left(self) -> int:
        """Epochs that are not trained to their end; 0 where a checkpoint has all of them."""
        return max(0, self.settings.epochs - self._state.epochs_done)

    @property
    def rate(self) -> float:
        """The learning rate of the step that comes next."""
        return self._rates.rate((self._epoch - 1) * self.plan.steps + self._step)

    def epoch_begins(self, epoch: int) -> None:
        """``epoch`` counts from 0."""
        self._epoch = epoch + 1
        self._step, self._steps_before = self._steps_before, 0
        if self._progress:
            self._progress.epoch_begins(self._step)

    def step_ended(self, loss: Callable[[], float]) -> None:
        """Counts a step, on all ranks; perhaps parameters are averaged, and there is a line or a
        checkpoint.

        Args:
            loss: Gives the step's; asked for where a line is due, since it may have to wait.

        Raises:
            StoppedError: A rank was told to stop; the checkpoint is written.
            TrainingError: A checkpoint cannot be written.
            PeerEndedError: The same, on the ranks that have nothing to add.
        """
        self._steps_done += 1
        self._step += 1
        if self._progress:
            self._progress.step_ended(self._epoch, self._step, loss)
        if self.settings.sync.is_due(self._step) and self._step < self.plan.steps:
            self._learner.settle()
        self._checkpointing.after_step(self._step, self._steps_done)

    def epoch_ended(self, loss: float, accuracy: float, samples: float) -> None:
        """Averages the metrics, proves that the ranks are in step, validates, writes a checkpoint.

        Args:
            loss: Mean over this rank's samples of the epoch: each counts once, padding not at all.
            accuracy: The same, 0 to 1.
            samples: How many those are; 0 where the rank had none.

        Raises:
            StoppedError: A rank was told to stop; the checkpoint is written.
            TrainingError: The loss is no number any more, or the ranks are out of step.
            PeerEndedError: The same, on the ranks that have nothing to add.
        """
        ranks = self.ranks
        pace = self._progress.epoch_measured() if self._progress else None
        metrics = ranks.average({"loss": loss, "accuracy": accuracy}, weight=samples)
        ranks.together(lambda: _check_finite(metrics["loss"], self._epoch))
        self._learner.settle()
        ranks.check_in_step(self._learner.weights(), self._learner.versions)
        self._validated = self._evaluate(copies=0) if self.settings.validate else None
        if self._validated is not None:
            metrics.update(self._validated.of_validation())
        if self._progress and pace:
            metrics.update(images_per_second=pace.images_per_second, seconds=pace.seconds)
            self._progress.epoch_ended(self._epoch, pace, metrics)
        self._tracking.epoch_ended(self._epoch, self._steps_done, metrics, self.rate)
        place = self._left.course.state(self._epoch - self._state.begun_at, 0)
        self._state.after_epoch(self._epoch, self._steps_done, metrics, place)
        self._checkpointing.after_epoch()

    def finish(self, export: Export) -> None:
        """Evaluates, writes model and metrics.json, says the result; on all ranks.

        Args:
            export: Writes the model into a folder and gives its file's path; called on rank 0.

        Raises:
            StoppedError: A rank was told to stop.
            TrainingError: Something cannot be written or read.
            PeerEndedError: The same, on the ranks that have nothing to add.
        """
        copies = self.settings.predict_copies
        score = self._validated if self._validated and not copies else self._evaluate(copies)
        self._checkpointing.leave()
        assert score is not None  # else a rank was told to stop
        pace = self._progress.pace if self._progress else None
        metrics = {
            "test_accuracy": score.accuracy,
            "test_loss": score.loss,
            "images_per_second": pace.images_per_second if pace else 0.0,
            "training_seconds": self._seconds,
            "gpus_per_rank": self._gpus,
            **self._state.metrics(),
        }
        path = self.ranks.on_first(lambda: self._export(export, metrics))
        if pace is None:
            return
        folder, kept = self._state.kept()
        say(
            progress.result_line(
                score,
                self._state.epochs_done,
                pace,
                self.ranks.size,
                path,
                folder,
                kept,
            )
        )
        self._tracking.finished(self._steps_done, metrics, path)

    def _evaluate(self, copies: int) -> Score | None:
        """None where a rank was told to stop meanwhile."""
        settings = self.settings
        return results.evaluate(
            self._learner.predict,
            self.data,
            self.ranks,
            copies,
            settings.augment,
            settings.seed,
            lambda: self._checkpointing.stops,
        )

    def _export(self, export: Export, metrics: Mapping[str, Any]) -> str | None:
        if self._models is None:
            say("model: not written; give --model-dir to keep it")
            return None
        path = results.exported(export, self._models.path)
        results.write_metrics(self._models.path, metrics)
        return path


def _check_finite(loss: float, epoch: int) -> None:
    if not math.isfinite(loss):
        raise TrainingError(
            f"the loss is {loss} after epoch {epoch}, so training has failed; no checkpoint of it "
            "was written. Use a smaller --lr, or --lr-scaling none."
        )
