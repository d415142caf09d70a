"""One run of the image classifier, from settings to result line; the same calls on every rank."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import time
from typing import Any, Mapping

import numpy as np
import tensorflow as tf

from . import models, places, results, schedules, storage, tracking, training
from .arguments import Settings
from .data import dask_cluster, sources
from .data.dataset import Course, DataSet, Part
from .data.division import DROP
from .errors import TrainingError
from .plan import plan_epochs
from .ranks import Ranks
from .saved_state import SavedState
from .tracking import say


def run(settings: Settings, ranks: Ranks, gpus: int) -> None:
    """Trains, evaluates and exports; takes as long as that takes.

    Args:
        settings: The command line.
        ranks: The ranks, started.
        gpus: GPUs that this rank uses; for metrics.json.

    Raises:
        TrainingError: Something stops it; every epoch before has its checkpoint.
        PeerEndedError: The same, on the ranks that have nothing to add.
    """
    with contextlib.ExitStack() as stack:
        if settings.data == "augment":
            address = stack.enter_context(dask_cluster.scheduler_for(ranks, settings.scheduler))
            settings = dataclasses.replace(settings, scheduler=address)
        _Run(settings, ranks, gpus).run()


class _Run:
    def __init__(self, settings: Settings, ranks: Ranks, gpus: int):
        self._settings, self._ranks, self._gpus = settings, ranks, gpus
        self._checkpoints = places.checkpoint_folder(settings.checkpoint_dir, os.environ)
        self._models = places.model_folder(settings.model_dir, os.environ)

    def run(self) -> None:
        settings, ranks = self._settings, self._ranks
        ranks.on_first(self._prepare_folders)
        self._data: DataSet = ranks.together(lambda: sources.load(settings))
        fingerprints = ranks.gather(self._data.fingerprint())
        ranks.together(lambda: self._check_same_data(fingerprints))
        self._plan = ranks.together(
            lambda: plan_epochs(settings, self._data.training_count, ranks.size)
        )
        if ranks.first:
            self._say_data()
        _set_seeds(settings.seed)
        self._model = ranks.together(self._build)
        training.compile_distributed(
            self._model,
            models.optimizer(settings.optimizer, settings.learning_rate),
            weighted=settings.remainder != DROP,
        )
        self._state = SavedState(settings, ranks, self._data, self._model, self._checkpoints)
        ranks.on_first(self._state.check_space)
        self._state.restore()
        self._course = ranks.together(self._next_course)
        with self._data.explaining():
            seconds, rate = self._train()
            accuracy, loss = results.evaluate(
                self._model,
                self._data,
                ranks,
                settings.predict_copies,
                settings.augment,
                settings.seed,
            )
        self._finish(accuracy, loss, seconds, rate)

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
        rank = self._ranks.rank
        mine, first = fingerprints[rank], fingerprints[0]
        if mine != first:
            raise TrainingError(
                f"rank {rank} has other data than rank 0: {mine[0]} training and {mine[1]} test "
                f"images from {self._data.origin}, expected the same {first[0]} and {first[1]}. "
                "Give all hosts the same files."
            )

    def _say_data(self) -> None:
        data, plan = self._data, self._plan
        size = "x".join(str(length) for length in data.shape[:2])
        each = "the only rank" if self._ranks.size == 1 else f"each of {self._ranks.size} ranks"
        say(
            f"data: {data.name} from {data.origin}, {data.training_count} training and "
            f"{data.test_count} test images of {size}; {each} reads "
            f"{plan.images_per_rank} an epoch in {plan.steps} steps of {self._settings.batch_size}"
        )
        channels = places.channels(os.environ)
        if data.name == "digits" and channels:
            say(f"data: {channels[0][0]} is not read, since --data is digits")

    def _build(self) -> Any:
        data = self._data
        return models.build(self._settings.model, data.shape, data.classes, data.brightest)

    def _next_course(self) -> Course:
        """The way through the data from where the checkpoint stands."""
        settings, ranks, state = self._settings, self._ranks, self._state
        part = Part(
            ranks.rank,
            ranks.size,
            settings.batch_size,
            settings.seed,
            settings.remainder,
            settings.max_steps,
        )
        course = self._data.course(part, state.data)
        if course.first_steps == 0:  # fewer samples are left than this world has ranks
            state.skip_to_next_epoch()
            course = self._data.course(part, course.state(1, 0))
        return course

    def _train(self) -> tuple[float, float]:
        """(seconds of training, images a second of the job) of this run."""
        settings, ranks, plan, course = self._settings, self._ranks, self._plan, self._course
        begin, epochs = self._state.epochs_done, settings.epochs - self._state.epochs_done
        if epochs <= 0:
            return 0.0, 0.0
        progress = None
        if ranks.first:
            progress = tracking.Progress(
                settings.epochs, plan.steps, plan.images_per_epoch, settings.batch_size * ranks.size
            )
        rate = schedules.WarmUp(
            start=settings.learning_rate,
            target=schedules.scaled(settings.learning_rate, settings.lr_scaling, ranks.size),
            steps=settings.warmup_epochs * plan.steps,
        )
        callback = training.Epochs(
            ranks,
            rate,
            self._state.steps_done,
            max(0, plan.steps - course.first_steps),
            plan.images_per_rank,
            progress,
            self._epoch_done,
            self._step_done if settings.checkpoint_steps else None,
        )
        began = time.monotonic()
        first = 0
        if course.first_steps != course.steps:  # the rest of an epoch, then whole ones
            self._fit(callback, begin, 0, 1, course.first_steps)
            first = 1
        if epochs > first:
            self._fit(callback, begin + first, first, epochs - first, course.steps)
        return time.monotonic() - began, progress.images_per_second if progress else 0.0

    def _fit(self, callback: Any, epoch: int, first: int, epochs: int, steps: int) -> None:
        self._model.fit(
            self._course.batches(epochs, first),
            initial_epoch=epoch,
            epochs=epoch + epochs,
            steps_per_epoch=steps,
            callbacks=[callback],
            verbose=0,
        )

    def _epoch_done(self, epoch: int, steps: int, metrics: Mapping[str, float]) -> None:
        """After each epoch, on all ranks: a checkpoint, written by rank 0."""
        begin = self._state.begun_at
        self._state.after_epoch(epoch, steps, metrics, self._course.state(epoch - begin, 0))

    def _step_done(self, step: int, steps: int) -> None:
        """After each step, on all ranks: perhaps a checkpoint, written by rank 0."""
        every = self._settings.checkpoint_steps
        if every is None or step % every or step >= self._plan.steps:
            return
        epochs = self._state.epochs_done - self._state.begun_at
        before = 0 if epochs else max(0, self._plan.steps - self._course.first_steps)
        self._state.after_step(step, steps, self._course.state(epochs, step - before))

    def _finish(self, accuracy: float, loss: float, seconds: float, rate: float) -> None:
        metrics = {
            "test_accuracy": accuracy,
            "test_loss": loss,
            "images_per_second": rate,
            "training_seconds": seconds,
            "gpus_per_rank": self._gpus,
            **self._state.metrics(),
        }
        model_path = self._ranks.on_first(lambda: self._export(metrics))
        if not self._ranks.first:
            return
        folder, kept = self._state.kept()
        say(
            tracking.result_line(
                accuracy,
                loss,
                self._state.epochs_done,
                self._ranks.size,
                model_path,
                folder,
                kept,
            )
        )

    def _export(self, metrics: Mapping[str, Any]) -> str | None:
        if self._models is None:
            say("model: not written; give --model-dir to keep it")
            return None
        portable = self._build()
        portable.set_weights(self._model.get_weights())
        portable.compile(self._settings.optimizer, loss=training.LOSS, metrics=training.METRICS)
        path = results.export(portable, self._models.path)
        tracking.write_metrics(self._models.path, metrics)
        return path


def _set_seeds(seed: int) -> None:
    """What tf.keras.utils.set_random_seed does, but for its own generator: once that has a seed,
    tf-keras 2.18 asks it for ``randint(1, 1e9)``, which Python 3.12 refuses."""
    random.seed(seed)
    np.random.seed(seed)
    tf.random.set_seed(seed)
