"""How far a run is, and its way into checkpoints and back; the same on every rank."""

from __future__ import annotations

import dataclasses
import zlib
from typing import Any, Mapping

from . import checkpoints, storage
from .arguments import Settings
from .checkpoints import Checkpoint
from .data.dataset import DataSet
from .errors import TrainingError
from .in_use import InUse
from .learner import Learner
from .places import Place
from .progress import say
from .ranks import Ranks
from .sync import EPOCHS


class SavedState:
    """What a run has done so far, and its checkpoints.

    Args:
        settings: The command line.
        ranks: The ranks of the run.
        data: What it trains on.
        learner: The model in training.
        place: The folder for checkpoints; None for none.
        in_use: What keeps other runs out of it, on rank 0.

    Attributes:
        epochs_done: Whole epochs.
        steps_done: Optimizer steps, in all.
        begun_at: ``epochs_done`` when this run began.
        step: Steps of the next epoch that are done too, by worlds of any size.
        data: Where reading stands, for ``DataSet.course``; None for the beginning.
        unvalidated: Whether the model is one after an epoch of which no validation is known: an
            earlier run was told to stop in the middle of it.
    """

    def __init__(
        self,
        settings: Settings,
        ranks: Ranks,
        data: DataSet,
        learner: Learner,
        place: Place | None,
        in_use: InUse | None = None,
    ):
        self._settings, self._ranks, self._data = settings, ranks, data
        self._learner, self._place, self._in_use = learner, place, in_use
        self._named = _named(data)
        self._history: list[dict[str, Any]] = []
        self.epochs_done = self.steps_done = self.begun_at = self.step = 0
        self.data: Mapping[str, Any] | None = None
        self.unvalidated = False

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
        if found is not None:
            self.epochs_done, self.steps_done, self.step = found.epoch, found.steps, found.step
            self.data = found.data or None
            self._history = [dict(entry) for entry in found.history]
            last = found.history[-1] if found.history and not found.step else None
            self.unvalidated = last is not None and "validation_loss" not in last
            self._learner.fill(found.weights, found.optimizer)
        of_first = (self.epochs_done, self.steps_done, self.step, self.data, self.unvalidated)
        self.epochs_done, self.steps_done, self.step, self.data, self.unvalidated = (
            self._ranks.from_first(of_first)
        )
        if self.data is None and self.epochs_done:
            self.data = {"epoch": self.epochs_done}
        self.begun_at = self.epochs_done
        self._learner.take_first()

    def skip_to_next_epoch(self) -> None:
        """The epoch that was under way has nothing left for this world."""
        self.epochs_done += 1
        self.begun_at, self.step = self.epochs_done, 0

    def after_epoch(
        self, epoch: int, steps: int, metrics: Mapping[str, float], data: Mapping[str, Any]
    ) -> None:
        """Notes a whole epoch (its number from 1) and writes a checkpoint; on all ranks."""
        self.epochs_done, self.steps_done, self.step, self.data = epoch, steps, 0, data
        self._history.append({"epoch": epoch, **metrics})
        self._save()

    def add_to_last_epoch(self, metrics: Mapping[str, float]) -> None:
        """What is known of the last whole epoch only now."""
        if self._history:  # on rank 0
            self._history[-1].update(metrics)

    def after_step(self, step: int, steps: int, data: Mapping[str, Any]) -> None:
        """Writes a checkpoint after ``step`` steps of an epoch; on all ranks, models settled.

        Steps that a world of another size took of it count: a later checkpoint has more of them.
        """
        self.steps_done, self.step, self.data = steps, step, data
        self._save()

    @property
    def folder(self) -> str | None:
        """Where the checkpoints are; None for none."""
        return None if self._place is None else self._place.path

    def where(self) -> str:
        """How far the newest checkpoint is, and what goes on from it, for people."""
        at = f"epoch {self.epochs_done + 1}, step {self.step}"
        at = at if self.step else f"epoch {self.epochs_done}"
        if self.folder is None:
            return f"ended after {at} without a checkpoint, since no --checkpoint-dir was given"
        return (
            f"the checkpoint after {at} is in {self.folder}, and a run with that folder resumes "
            "from it"
        )

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
            **{name.lower(): version for name, version in self._learner.versions.items()},
            "arguments": dataclasses.asdict(self._settings),
            "history": self._history,
        }

    def _save(self) -> None:
        # Called on all ranks whatever their own place: mpirun may tell rank 0 alone of a folder.
        self._ranks.on_first(self._save_here)

    def _save_here(self) -> None:
        if self._place is not None:
            self._check_in_use()
            keep = self._settings.keep_checkpoints
            checkpoints.save(self._place.path, self._checkpoint(), keep)

    def _check_in_use(self) -> None:
        if self._in_use is not None:
            self._in_use.check()

    def _load(self) -> Checkpoint | None:
        if self._place is None:
            say("checkpoints: none; give --checkpoint-dir to be able to go on after a stop")
            return None
        folder, epochs = self._place.path, self._settings.epochs
        self._check_in_use()
        found = checkpoints.load_newest(folder)
        if found is None:
            say(f"checkpoints: one after each epoch in {folder}; none is there yet")
            return None
        ours = self._checkpoint()
        checkpoints.check_fits(found, folder, ours)
        # What an earlier version did not write down is taken to be the same.
        theirs = {**ours.settings, **found.settings}
        for difference in checkpoints.differences(theirs, ours.settings):
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
                **({"epochs divided over": self._ranks.size} if settings.divide == EPOCHS else {}),
                **self._learner.identity,
            },
            settings={
                "--batch-size": settings.batch_size,
                "--limit": settings.limit,
                "--lr": settings.learning_rate,
                "--lr-scaling": settings.lr_scaling,
                "--max-steps-per-epoch": settings.max_steps,
                "--seed": settings.seed,
                "--sync": str(settings.sync),
                "--compression": settings.compression,
                "--backward-passes": settings.backward_passes,
                "--remainder": settings.remainder,
                "--dropout": settings.dropout,
                "--precision": settings.precision,
                "--warmup-epochs": settings.warmup_epochs,
                "world size": self._ranks.size,
                "the data": self._named,
            },
            history=self._history,
            weights=self._learner.weights(),
            optimizer=self._learner.optimizer_state(),
            step=self.step,
            data=self.data or {},
        )


def _named(data: DataSet) -> str:
    """By what data are known again, wherever they lie."""
    number = zlib.crc32(repr([int(each) for each in data.fingerprint()]).encode())
    return f"{data.training_count} training images ({number:08x})"
