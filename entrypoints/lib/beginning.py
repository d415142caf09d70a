"""What a run has before there is a model: folders, trackers, data and plan, the same on all ranks.

Whatever would stop the training later stops it here, before anything is computed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random

import numpy as np

from . import places, storage, sync
from .arguments import Settings
from .data import dask_cluster, sources
from .data.dataset import DataSet
from .errors import TrainingError
from .in_use import InUse
from .places import Place
from .plan import Plan, plan_epochs
from .progress import say
from .ranks import Ranks
from .tracking.of_run import Tracking, tracking


@dataclasses.dataclass(frozen=True)
class Beginning:
    """What a run begins with.

    Attributes:
        settings: The command line; with ``--data augment:`` its scheduler is filled in, with
            ``--divide epochs`` it has this rank's.
        checkpoints: The folder for them; None for none.
        in_use: What keeps other runs out of it, on rank 0; else None.
        models: The folder for the trained model; None for none.
        tracking: Who is told of the run.
        data: What it trains on.
        plan: How an epoch divides into steps.
    """

    settings: Settings
    checkpoints: Place | None
    in_use: InUse | None
    models: Place | None
    tracking: Tracking
    data: DataSet
    plan: Plan


def begin(given: Settings, ranks: Ranks, arrays: bool, end: contextlib.ExitStack) -> Beginning:
    """Gets all that, and seeds Python's and NumPy's draws; all ranks call it.

    Args:
        given: The command line.
        ranks: Of the run.
        arrays: Whether batches come as NumPy arrays; TensorFlow is then not imported.
        end: Is given what has to end with the run.

    Raises:
        TrainingError: Something stops the run before it begins.
        PeerEndedError: The same, on the ranks that have nothing to add.
    """
    settings = _of_this_rank(given, ranks, end)
    checkpoints = places.checkpoint_folder(settings.checkpoint_dir, os.environ)
    models = places.model_folder(settings.model_dir, os.environ)
    in_use = ranks.on_first(lambda: _prepare_folders(checkpoints, models, end))
    folders = (place.path if place else None for place in (models, checkpoints))
    tracked = end.enter_context(tracking(settings, ranks, *folders))
    data: DataSet = ranks.together(lambda: ranks.reading(sources.load(settings, arrays)))
    fingerprints = ranks.gather(data.fingerprint())
    ranks.together(lambda: _check_same_data(ranks.rank, data.origin, fingerprints))
    plan = ranks.together(lambda: plan_epochs(settings, data.training_count, ranks.size))
    if ranks.first:
        _say_data(data, plan, settings.batch_size, ranks.size)
    random.seed(settings.seed)
    np.random.seed(settings.seed)
    return Beginning(settings, checkpoints, in_use, models, tracked, data, plan)


def _of_this_rank(given: Settings, ranks: Ranks, end: contextlib.ExitStack) -> Settings:
    settings: Settings = ranks.together(lambda: sync.of_ranks(given, ranks.size))
    shorter = sync.warm_up_told(given, settings, ranks.size)
    if shorter and ranks.first:
        say(shorter)
    if settings.data != "augment":
        return settings
    address = end.enter_context(dask_cluster.scheduler_for(ranks, settings.scheduler))
    return dataclasses.replace(settings, scheduler=address)


def _prepare_folders(
    checkpoints: Place | None, models: Place | None, end: contextlib.ExitStack
) -> InUse | None:
    """Fails now, not after an hour, where nothing can be written, or another run writes."""
    in_use = None
    for place, kind in ((checkpoints, "checkpoint"), (models, "model")):
        if place is None:
            continue
        try:
            storage.prepare_folder(place.path)
            if place is checkpoints:
                in_use = InUse(place, os.environ)
                end.callback(in_use.leave)
                in_use.take()
            storage.remove_unfinished(place.path)
        except OSError as error:
            raise TrainingError(
                f"{place.path} ({place.named_by}): the {kind} folder cannot be written: "
                f"{error}. Make room there, or give another folder with --{kind}-dir."
            ) from error
    return in_use


def _check_same_data(rank: int, origin: str, fingerprints: list[tuple[int, ...]]) -> None:
    mine, first = fingerprints[rank], fingerprints[0]
    if mine != first:
        raise TrainingError(
            f"rank {rank} has other data than rank 0: {mine[0]} training and {mine[1]} test "
            f"images from {origin}, expected the same {first[0]} and {first[1]}. "
            "Give all hosts the same files."
        )


def _say_data(data: DataSet, plan: Plan, batch_size: int, world_size: int) -> None:
    size = "x".join(str(length) for length in data.shape[:2])
    each = "the only rank" if world_size == 1 else f"each of {world_size} ranks"
    say(
        f"data: {data.name} from {data.origin}, {data.training_count} training and "
        f"{data.test_count} test images of {size}; {each} reads "
        f"{plan.images_per_rank} an epoch in {plan.steps} steps of {batch_size}"
    )
    channels = places.channels(os.environ)
    if data.name == "digits" and channels:
        say(f"data: {channels[0][0]} is not read, since --data is digits")
