"""What a run of the training scripts tells its trackers, and when; rank 0's is told on."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Mapping

from ..arguments import Settings
from ..errors import StoppedError
from ..ranks import Ranks
from . import identity, makers
from .tracker import FAILED, FINISHED, KILLED, Nobody, Tracker

# Settings that say where things lie or how the run is watched, and nothing of the training.
_NO_PARAMETERS = ("track", "track_wait", "checkpoint_dir", "model_dir")
_AT_THE_END = ("test_accuracy", "test_loss", "training_seconds")
_NOTHING: Mapping[str, Any] = {}
# What a run waits that failed, and one that was told to stop and may be killed soon: locally
# 2 s later.
SECONDS_AFTER = {FAILED: 5.0, KILLED: 1.0, FINISHED: None}


class Tracking:
    """A context around a run, on all ranks; made by :func:`tracking`.

    Args:
        tracker: Who is told; on other ranks than the first nobody.
        settings: What a run's beginning says of it.
        tags: The same.
        proof: Tags of the world that the ranks have made.
    """

    def __init__(
        self,
        tracker: Tracker,
        settings: Mapping[str, Any] = _NOTHING,
        tags: Mapping[str, str] = _NOTHING,
        proof: Mapping[str, str] = _NOTHING,
    ):
        self._tracker = tracker
        self._settings, self._tags, self._proof = settings, tags, proof
        self._ended = False

    def __enter__(self) -> Tracking:
        """Nothing is told yet."""
        return self

    def begins(self) -> None:
        """Once the run's checkpoint is in its model: a start that is refused by what lies in the
        folder changes nothing of the run that wrote it."""
        self._tracker.begin(self._settings, self._tags)
        self._tracker.tags(self._proof)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """Ends a run that has not finished."""
        if not self._ended:
            self._ended = True
            status = _status(error)
            self._tracker.end(status, SECONDS_AFTER[status])

    def on_the_way(self, steps: int, loss: float, images_per_second: float) -> None:
        """With a progress line within an epoch, so at most once a second."""
        self._tracker.metrics(
            steps, {"step_loss": loss, "step_images_per_second": images_per_second}
        )

    def epoch_ended(
        self, epoch: int, steps: int, metrics: Mapping[str, float], rate: float
    ) -> None:
        """After each epoch (from 1): all that the run knows of it, and the learning rate."""
        self._tracker.metrics(steps, {**metrics, "learning_rate": rate, "epoch": epoch})

    def finished(self, steps: int, metrics: Mapping[str, Any], model: str | None) -> None:
        """The last call of a run that has come to its end; blocks for ``--track-wait`` at most.

        Args:
            steps: Optimizer steps of the whole training.
            metrics: Those of metrics.json; what was measured at the end is told.
            model: The path of the model's file.
        """
        self._tracker.metrics(steps, {name: metrics[name] for name in _AT_THE_END})
        if model:
            self._tracker.file(model)
        self._ended = True
        self._tracker.end(FINISHED)


def tracking(
    settings: Settings, ranks: Ranks, model_folder: str | None, checkpoint_folder: str | None
) -> Tracking:
    """Makes what tracks, on all ranks; before the data is read, so that what is missing is said at
    once.

    Raises:
        TrainingError: A tracker cannot work here.
        PeerEndedError: The same, on the other ranks.
    """
    if not settings.track:
        return Tracking(Nobody())
    made = ranks.on_first(
        lambda: makers.make(settings.track, model_folder, checkpoint_folder, settings.track_wait)
    )
    hosts = ranks.gather(identity.host_of_rank(os.environ))
    tracker = made or Nobody()
    return Tracking(
        tracker,
        parameters(settings, ranks.size),
        identity.launch_tags(os.environ),
        identity.proof_tags(hosts, os.environ),
    )


def parameters(settings: Settings, world_size: int) -> dict[str, Any]:
    """The run's settings, the world size, and the batch of all ranks together."""
    names = (field.name for field in dataclasses.fields(settings))
    found = {name: getattr(settings, name) for name in names if name not in _NO_PARAMETERS}
    total = settings.batch_size * world_size
    return {**found, "world_size": world_size, "total_batch_size": total}


def _status(error: BaseException | None) -> str:
    """A run that was told to stop is KILLED, any other that did not finish FAILED."""
    if error is None:
        return FINISHED
    return KILLED if isinstance(error, (StoppedError, KeyboardInterrupt)) else FAILED
