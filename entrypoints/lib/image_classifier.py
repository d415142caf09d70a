"""One run of the image classifier, from settings to result line; the same calls on every rank."""

from __future__ import annotations

import dataclasses
import os
import random
import time
from typing import Any, Mapping

import horovod
import numpy as np
import tensorflow as tf

from . import (
    checkpoints,
    models,
    places,
    results,
    schedules,
    storage,
    tracking,
    training,
)
from .arguments import Settings
from .checkpoints import Checkpoint
from .data import batches, sources
from .errors import TrainingError
from .plan import plan_epochs
from .ranks import Ranks
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
    _Run(settings, ranks, gpus).run()


class _Run:
    def __init__(self, settings: Settings, ranks: Ranks, gpus: int):
        self._settings, self._ranks, self._gpus = settings, ranks, gpus
        self._checkpoints = places.checkpoint_folder(settings.checkpoint_dir, os.environ)
        self._models = places.model_folder(settings.model_dir, os.environ)
        self._history: list[dict[str, Any]] = []
        self._epochs_done = self._steps_done = 0

    def run(self) -> None:
        settings, ranks = self._settings, self._ranks
        ranks.on_first(self._prepare_folders)
        self._images = ranks.together(lambda: sources.load(settings))
        fingerprints = ranks.gather(self._images.fingerprint())
        ranks.together(lambda: self._check_same_images(fingerprints))
        self._plan = ranks.together(
            lambda: plan_epochs(settings, len(self._images.training_labels), ranks.size)
        )
        if ranks.first:
            self._say_data()
        _set_seeds(settings.seed)
        self._model = self._build()
        training.compile_distributed(
            self._model, models.optimizer(settings.optimizer, settings.learning_rate)
        )
        ranks.on_first(self._check_space)
        self._restore()
        seconds, rate = self._train()
        accuracy, loss = results.evaluate(self._model, self._images, ranks)
        metrics = self._metrics(accuracy, loss, seconds, rate)
        model_path = ranks.on_first(lambda: self._export(metrics))
        if ranks.first:
            self._say_result(accuracy, loss, model_path)

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

    def _check_same_images(self, fingerprints: list[tuple[int, ...]]) -> None:
        rank = self._ranks.rank
        mine, first = fingerprints[rank], fingerprints[0]
        if mine != first:
            raise TrainingError(
                f"rank {rank} has other data than rank 0: {mine[0]} training and {mine[1]} test "
                f"images from {self._images.origin}, expected the same {first[0]} and {first[1]}. "
                "Give all hosts the same files."
            )

    def _say_data(self) -> None:
        images, plan = self._images, self._plan
        size = "x".join(str(length) for length in images.shape[:2])
        each = "the only rank" if self._ranks.size == 1 else f"each of {self._ranks.size} ranks"
        say(
            f"data: {images.name} from {images.origin}, {len(images.training_labels)} training and "
            f"{len(images.test_labels)} test images of {size}; {each} reads "
            f"{plan.images_per_rank} an epoch in {plan.steps} steps of {self._settings.batch_size}"
        )
        channels = places.channels(os.environ)
        if images.name == "digits" and channels:
            say(f"data: {channels[0][0]} is not read, since --data is digits")

    def _build(self) -> Any:
        images = self._images
        return models.build(self._settings.model, images.shape, images.classes, images.brightest)

    def _check_space(self) -> None:
        if self._checkpoints is None:
            return
        needed = self._checkpoint().size_in_bytes()
        free = storage.free_bytes(self._checkpoints.path)
        if free is not None and free < needed:
            raise TrainingError(
                f"{self._checkpoints.path} ({self._checkpoints.named_by}): {free} bytes are free "
                f"and a checkpoint needs {needed}. Make room there, or give another folder with "
                "--checkpoint-dir."
            )

    def _restore(self) -> None:
        """Puts rank 0's checkpoint, or its fresh weights, into all ranks."""
        found = self._ranks.on_first(self._load_checkpoint)
        if found is not None:
            self._epochs_done, self._steps_done = found.epoch, found.steps
            self._history = [dict(entry) for entry in found.history]
            arrays = [*found.weights, *found.optimizer]
            for variable, array in zip(training.variables(self._model), arrays):
                variable.assign(array)
        self._epochs_done, self._steps_done = self._ranks.from_first(
            (self._epochs_done, self._steps_done)
        )
        self._ranks.same_variables(training.variables(self._model))

    def _load_checkpoint(self) -> Checkpoint | None:
        if self._checkpoints is None:
            say("checkpoints: none; give --checkpoint-dir to be able to go on after a stop")
            return None
        folder, epochs = self._checkpoints.path, self._settings.epochs
        found = checkpoints.load_newest(folder)
        if found is None:
            say(f"checkpoints: one after each epoch in {folder}; none is there yet")
            return None
        ours = self._checkpoint()
        checkpoints.check_fits(found, folder, ours)
        for difference in checkpoints.differences(found.settings, ours.settings):
            say(f"checkpoints: mind that {difference}")
        if found.epoch >= epochs:
            say(f"checkpoints: {folder} has all {found.epoch} epochs; none is left to train")
        else:
            say(
                f"checkpoints: found in {folder} after epoch {found.epoch} and {found.steps} "
                f"steps; going on at epoch {found.epoch + 1}/{epochs}"
            )
        return found

    def _train(self) -> tuple[float, float]:
        """(seconds of training, images a second of the job) of this run."""
        settings, ranks, plan = self._settings, self._ranks, self._plan
        if self._epochs_done >= settings.epochs:
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
        began = time.monotonic()
        self._model.fit(
            batches.training_batches(
                self._images,
                rank=ranks.rank,
                world_size=ranks.size,
                batch_size=settings.batch_size,
                steps=plan.steps,
                seed=settings.seed,
                first_epoch=self._epochs_done,
                epochs=settings.epochs,
            ),
            initial_epoch=self._epochs_done,
            epochs=settings.epochs,
            steps_per_epoch=plan.steps,
            callbacks=[training.Epochs(ranks, rate, self._steps_done, progress, self._epoch_done)],
            verbose=0,
        )
        return time.monotonic() - began, progress.images_per_second if progress else 0.0

    def _epoch_done(self, epoch: int, steps: int, metrics: Mapping[str, float]) -> None:
        """After each epoch, on all ranks: a checkpoint, written by rank 0."""
        self._epochs_done, self._steps_done = epoch, steps
        self._history.append({"epoch": epoch, **metrics})
        place, keep = self._checkpoints, self._settings.keep_checkpoints
        if place is not None:
            folder = place.path
            self._ranks.on_first(lambda: checkpoints.save(folder, self._checkpoint(), keep))

    def _checkpoint(self) -> Checkpoint:
        settings, images = self._settings, self._images
        return Checkpoint(
            epoch=self._epochs_done,
            steps=self._steps_done,
            identity={
                "data": images.name,
                "image shape": list(images.shape),
                "classes": images.classes,
                "model": settings.model,
                "optimizer": settings.optimizer,
            },
            settings={
                "--batch-size": settings.batch_size,
                "--limit": settings.limit,
                "--lr": settings.learning_rate,
                "--lr-scaling": settings.lr_scaling,
                "--max-steps-per-epoch": settings.max_steps,
                "--seed": settings.seed,
                "--warmup-epochs": settings.warmup_epochs,
                "world size": self._ranks.size,
            },
            history=self._history,
            weights=[weight.numpy() for weight in self._model.weights],
            optimizer=[v.numpy() for v in models.optimizer_variables(self._model.optimizer)],
        )

    def _metrics(self, accuracy: float, loss: float, seconds: float, rate: float) -> dict[str, Any]:
        return {
            "test_accuracy": accuracy,
            "test_loss": loss,
            "epochs": self._epochs_done,
            "steps": self._steps_done,
            "world_size": self._ranks.size,
            "images_per_second": rate,
            "training_seconds": seconds,
            "seed": self._settings.seed,
            "gpus_per_rank": self._gpus,
            "tensorflow": tf.__version__,
            "horovod": horovod.__version__,
            "arguments": dataclasses.asdict(self._settings),
            "history": self._history,
        }

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

    def _say_result(self, accuracy: float, loss: float, model_path: str | None) -> None:
        folder = self._checkpoints.path if self._checkpoints else None
        kept = len(checkpoints.found_in(folder)) if folder else 0
        say(
            tracking.result_line(
                accuracy, loss, self._epochs_done, self._ranks.size, model_path, folder, kept
            )
        )


def _set_seeds(seed: int) -> None:
    """What tf.keras.utils.set_random_seed does, but for its own generator: once that has a seed,
    tf-keras 2.18 asks it for ``randint(1, 1e9)``, which Python 3.12 refuses."""
    random.seed(seed)
    np.random.seed(seed)
    tf.random.set_seed(seed)
