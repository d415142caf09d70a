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
import dataclasses
import math
import os
import random
import time
from typing import Any, Callable, Iterator, Mapping

import numpy as np

from . import places, progress, results, schedules, storage, sync
from .arguments import Settings
from .checkpointing import Checkpointing
from .data import dask_cluster, position, sources
from .data.dataset import Course, DataSet, Part
from .errors import TrainingError
from .learner import Learner
from .plan import plan_epochs
from .progress import Progress, say
from .ranks import Ranks
from .results import Score
from .saved_state import SavedState
from .tracking.of_run import tracking

Export = Callable[[str], str]


@dataclasses.dataclass(frozen=True)
class Stretch:
    """Epochs that follow each other and have the same number of steps.

    Attributes:
        epochs: Their numbers, from 0.
        steps: Optimizer steps that are left of each of them.
    """

    epochs: range
    steps: int
    _course: Course
    _first: int

    def batches(self) -> Any:
        """A tf.data.Dataset of the batches of all its epochs; see ``data.dataset.Course``."""
        return self._course.batches(len(self.epochs), self._first)

    def arrays(self) -> Iterator[tuple[Any, ...]]:
        """The same batches as NumPy arrays, for frameworks other than TensorFlow."""
        return self._course.arrays(len(self.epochs), self._first)


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
        self._checkpoints = places.checkpoint_folder(settings.checkpoint_dir, os.environ)
        self._models = places.model_folder(settings.model_dir, os.environ)
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
            self._begin()
            until_begun.pop_all()
        return self

    def __exit__(self, *error: Any) -> bool | None:
        """Ends what the run has started."""
        return self._end.__exit__(*error)

    def _begin(self) -> None:
        ranks = self.ranks
        given = self.settings
        self.settings = ranks.together(lambda: sync.of_ranks(given, ranks.size))
        shorter = sync.warm_up_told(given, self.settings, ranks.size)
        if shorter and ranks.first:
            say(shorter)
        if self.settings.data == "augment":
            address = self._end.enter_context(
                dask_cluster.scheduler_for(ranks, self.settings.scheduler)
            )
            self.settings = dataclasses.replace(self.settings, scheduler=address)
        settings = self.settings
        ranks.on_first(self._prepare_folders)
        folders = (place.path if place else None for place in (self._models, self._checkpoints))
        self._tracking = self._end.enter_context(tracking(settings, ranks, *folders))
        self.data: DataSet = ranks.together(
            lambda: ranks.reading(sources.load(settings, self._arrays))
        )
        fingerprints = ranks.gather(self.data.fingerprint())
        ranks.together(lambda: self._check_same_data(fingerprints))
        self.plan = ranks.together(
            lambda: plan_epochs(settings, self.data.training_count, ranks.size)
        )
        if ranks.first:
            self._say_data()
        random.seed(settings.seed)
        np.random.seed(settings.seed)

    def _prepare_folders(self) -> None:
        """Fails now, not after an hour, where nothing can be written."""
        for place, kind in ((self._checkpoints, "checkpoint"), (self._models, "model")):
            if place is None:
                continue
            try:
                storage.prepare_folder(place.path)
                storage.remove_unfinished(place.path)
            except OSError as error:
                raise TrainingError(
                    f"{place.path} ({place.named_by}): the {kind} folder cannot be written: "
                    f"{error}. Make room there, or give another folder with --{kind}-dir."
                ) from error

    def _check_same_data(self, fingerprints: list[tuple[int, ...]]) -> None:
        rank = self.ranks.rank
        mine, first = fingerprints[rank], fingerprints[0]
        if mine != first:
            raise TrainingError(
                f"rank {rank} has other data than rank 0: {mine[0]} training and {mine[1]} test "
                f"images from {self.data.origin}, expected the same {first[0]} and {first[1]}. "
                "Give all hosts the same files."
            )

    def _say_data(self) -> None:
        data, plan = self.data, self.plan
        size = "x".join(str(length) for length in data.shape[:2])
        each = "the only rank" if self.ranks.size == 1 else f"each of {self.ranks.size} ranks"
        say(
            f"data: {data.name} from {data.origin}, {data.training_count} training and "
            f"{data.test_count} test images of {size}; {each} reads "
            f"{plan.images_per_rank} an epoch in {plan.steps} steps of {self.settings.batch_size}"
        )
        channels = places.channels(os.environ)
        if data.name == "digits" and channels:
            say(f"data: {channels[0][0]} is not read, since --data is digits")

    def restore(self, learner: Learner) -> None:
        """Puts the newest checkpoint, or rank 0's fresh weights, into all ranks' models.

        Raises:
            TrainingError: A checkpoint is damaged or another training's, or none would fit on
                the disk.
            PeerEndedError: The same, on the ranks that have nothing to add.
        """
        settings, ranks = self.settings, self.ranks
        self._learner = learner
        self._state = SavedState(settings, ranks, self.data, learner, self._checkpoints)
        ranks.on_first(self._state.check_space)
        self._state.restore()
        self._course = ranks.together(self._next_course)
        self._steps_done = self._state.steps_done
        self._rates = schedules.WarmUp(
            start=settings.learning_rate,
            target=schedules.scaled(settings.learning_rate, settings.lr_scaling, ranks.size),
            steps=settings.warmup_epochs * self.plan.steps,
        )
        self._progress: Progress | None = None
        if ranks.first and settings.lr_scaling != "none":
            say(
                f"learning rate: {settings.learning_rate:g} scaled to {self._rates.target:g} for "
                f"{ranks.size} ranks (--lr-scaling {settings.lr_scaling})"
            )
        if ranks.first:
            self._progress = Progress(
                settings.epochs,
                self.plan.steps,
                self.plan.images_per_epoch,
                settings.batch_size * ranks.size,
                told=lambda *line: self._tracking.on_the_way(self._steps_done, *line),
            )
        self._checkpointing = Checkpointing(
            settings, ranks, learner, self._state, self.plan, self._course, self._first_steps
        )
        self._end.enter_context(self._checkpointing)
        self._end.enter_context(self.data.explaining())
        if settings.validate and self._state.unvalidated:
            self._validated = self._evaluate(copies=0)
            if self._validated is not None:
                self._state.add_to_last_epoch(self._validated.of_validation())

    def _next_course(self) -> Course:
        """The way through the data from where the checkpoint stands."""
        settings, ranks, state = self.settings, self.ranks, self._state
        divided = sync.readers(settings, ranks.size) > 1
        part = Part(
            rank=ranks.rank if divided else 0,
            world_size=ranks.size if divided else 1,
            batch_size=settings.batch_size,
            seed=sync.seed_of(settings, ranks.rank),
            remainder=settings.remainder,
            max_steps=settings.max_steps if settings.backward_passes == 1 else self.plan.steps,
        )
        # The checkpoint's place in the data is rank 0's.
        start = state.data if state.data is None else position.with_seed(state.data, part.seed)
        course = self.data.course(part, start)
        self._first_steps = sync.whole_steps(settings, course.first_steps)
        if self._first_steps == 0:  # fewer samples are left than this world has ranks
            state.skip_to_next_epoch()
            course = self.data.course(part, course.state(1, 0))
            self._first_steps = sync.whole_steps(settings, course.first_steps)
        return course

    def stretches(self) -> Iterator[Stretch]:
        """What is left to train, in order; nothing where a checkpoint has all epochs."""
        begin, end = self._state.epochs_done, self.settings.epochs
        if begin >= end:
            return
        course, first = self._course, 0
        self._steps_before = max(0, self.plan.steps - self._first_steps)
        began = time.monotonic()
        if self._first_steps != course.steps:
            yield Stretch(range(begin, begin + 1), self._first_steps, course, 0)
            first = 1
        if begin + first < end:
            yield Stretch(range(begin + first, end), course.steps, course, first)
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
        place = self._course.state(self._epoch - self._state.begun_at, 0)
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
