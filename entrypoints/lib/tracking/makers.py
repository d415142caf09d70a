"""Makes the trackers of ``--track``."""

from __future__ import annotations

import os
from typing import Callable, Mapping, MutableMapping, Sequence

from . import identity, mlflow_place, tensorboard
from .messages import say
from .mlflow_run import MLflowRun
from .names import MLFLOW, TENSORBOARD
from .sender import SECONDS_AT_END, Sender, Sink
from .tracker import Nobody, Several, Tracker


def _mlflow(environment: MutableMapping[str, str], model_folder: str | None) -> Sink:
    store = mlflow_place.find(environment, model_folder)
    mlflow_place.require_client(store, environment)
    say(f"tracking: MLflow at {store.shown}, experiment {store.shown_experiment}")
    return MLflowRun(store)


def _tensorboard(environment: MutableMapping[str, str], model_folder: str | None) -> Sink:
    folder = tensorboard.find(environment, model_folder)
    tensorboard.require_writer()
    say(f"tracking: TensorBoard in {folder}")
    return tensorboard.EventFile(folder)


_MAKERS: Mapping[str, Callable[[MutableMapping[str, str], str | None], Sink]] = {
    MLFLOW: _mlflow,
    TENSORBOARD: _tensorboard,
}


def make(
    names: Sequence[str],
    model_folder: str | None,
    checkpoint_folder: str | None,
    seconds: float | None = None,
    environment: MutableMapping[str, str] = os.environ,
) -> Tracker:
    """The trackers of ``--track``, on rank 0; says where each writes. Takes a second or two.

    Args:
        names: Of ``NAMES``.
        model_folder: Where a run is kept that no server takes.
        checkpoint_folder: By which a restarted training is known to be the same run.
        seconds: That the run's end may wait for what is not sent yet.
        environment: Of this process; settings of MLflow's client are added.

    Raises:
        TrainingError: One cannot work here, for a reason that is known before the training.
    """
    if not names:
        return Nobody()
    sinks = [_MAKERS[name](environment, model_folder) for name in names]
    key = identity.run_key(checkpoint_folder)
    folders = [folder for folder in (model_folder, checkpoint_folder) if folder]
    return Several(
        [
            Sender(
                sink,
                key,
                identity.run_name(environment, key),
                folders,
                SECONDS_AT_END if seconds is None else seconds,
            )
            for sink in sinks
        ]
    )
