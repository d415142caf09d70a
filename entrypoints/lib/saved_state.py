"""How far a run is, and its way into checkpoints and back; the same on every rank."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping

import horovod
import tensorflow as tf

from . import checkpoints, models, storage, training
from .arguments import Settings
from .checkpoints import Checkpoint
from .data.dataset import DataSet
from .errors import TrainingError
from .places import Place
from .ranks import Ranks
from .tracking import say


class SavedState:
    """What a run has done so far, and its checkpoints.

    Args:
        settings: The command line.
        ranks: The ranks of the run.
        data: What it trains on.
        model: Compiled, its optimizer's variables made.
        place: The folder for checkpoints; None for none.

    Attributes:
        epochs_done: Whole epochs.
        steps_done: Optimizer steps, in all.
        begun_at: ``epochs_done`` when this run began.
        data: Where reading stands, for ``DataSet.course``; None for the beginning.
    """

    def __init__(
        self, settings: Settings, ranks: Ranks, data: DataSet, model: Any, place: Place | None
    ):
        self._settings, self._ranks, self._data = settings, ranks, data
        self._model, self._place = model, place
        self._history: list[dict[str, Any]] = []
        self.epochs_done = self.steps_done = self.begun_at = self._step = 0
        self.data: Mapping[str, Any] | None = None

    def check_space(self) -> None:
        """Passes where a checkpoint fits on the disk.

        Raises:
            TrainingError: It does not.
        """
        if self._place is None:
            return
        needed = self._checkpoint().size_in_bytes()
        free = storage.free_bytes(self._place.path)
        if free is not None and free < needed:
            raise TrainingError(
                f"{self._place.path} ({self._place.named_by}): {free} bytes are free and a "
                f"checkpoint needs {needed}. Make room there, or give another folder with "
                "--checkpoint-dir."
            )

    def restore(self) -> None:
        """Puts rank 0's checkpoint, or its fresh weights, into all ranks."""
        found = self._ranks.on_first(self._load)
        variables = training.variables(self._model)
        if found is not None:
            self.epochs_done, self.steps_done = found.epoch, found.steps
            self.data = found.data or None
            self._history = [dict(entry) for entry in found.history]
            for variable, array in zip(variables, [*found.weights, *found.optimizer]):
                variable.assign(array)
        self.epochs_done, self.steps_done, self.data = self._ranks.from_first(
            (self.epochs_done, self.steps_done, self.data)
        )
        if self.data is None and self.epochs_done:
            self.data = {"epoch": self.epochs_done}
        self.begun_at = self.epochs_done
        self._ranks.same_variables(variables)

    def skip_to_next_epoch(self) -> None:
        """The epoch that was under way has nothing left for this world."""
        self.epochs_done += 1
        self.begun_at = self.epochs_done

    def after_epoch(
        self, epoch: int, steps: int, metrics: Mapping[str, float], data: Mapping[str, Any]
    ) -> None:
        """Notes a whole epoch (its number from 1) and writes a checkpoint; on all ranks."""
        self.epochs_done, self.steps_done, self._step, self.data = epoch, steps, 0, data
        self._history.append({"epoch": epoch, **metrics})
        self._save()

    def after_step(self, step: int, steps: int, data: Mapping[str, Any]) -> None:
        """Writes a checkpoint after ``step`` steps of an epoch; on all ranks."""
        self._ranks.average_variables(self._model.non_trainable_variables)
        self.steps_done, self._step, self.data = steps, step, data
        self._save()

    def kept(self) -> tuple[str | None, int]:
        """(folder of the checkpoints, how many are in it)."""
        if self._place is None:
            return None, 0
        return self._place.path, len(checkpoints.found_in(self._place.path))

    def metrics(self) -> dict[str, Any]:
        """What metrics.json says of the run, but for its results."""
        return {
            "epochs": self.epochs_done,
            "steps": self.steps_done,
            "world_size": self._ranks.size,
            "seed": self._settings.seed,
            "tensorflow": tf.__version__,
            "horovod": horovod.__version__,
            "arguments": dataclasses.asdict(self._settings),
            "history": self._history,
        }

    def _save(self) -> None:
        place, keep = self._place, self._settings.keep_checkpoints
        if place is not None:
            folder = place.path
            self._ranks.on_first(lambda: checkpoints.save(folder, self._checkpoint(), keep))

    def _load(self) -> Checkpoint | None:
        if self._place is None:
            say("checkpoints: none; give --checkpoint-dir to be able to go on after a stop")
            return None
        folder, epochs = self._place.path, self._settings.epochs
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
            within = f", step {found.step + 1}" if found.step else ""
            say(
                f"checkpoints: found in {folder} after epoch {found.epoch} and {found.steps} "
                f"steps; going on at epoch {found.epoch + 1}/{epochs}{within}"
            )
        return found

    def _checkpoint(self) -> Checkpoint:
        settings, data = self._settings, self._data
        return Checkpoint(
            epoch=self.epochs_done,
            steps=self.steps_done,
            identity={
                "data": data.name,
                "image shape": list(data.shape),
                "classes": data.classes,
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
            step=self._step,
            data=self.data or {},
        )
