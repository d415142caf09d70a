"""The command line of the image classifier, with an answer for every impossible value."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from dataclasses import dataclass
from typing import Any, NoReturn, Sequence

from . import options
from .data.kinds import KINDS
from .errors import leave_after_speaker, speaks_for_all
from .options import augmentation, data, models, tracking, training
from .sync import Sync
from .sync import problem as of_exchange


@dataclass(frozen=True)
class Settings:
    """The command line, complete: every default is filled in.

    ``data`` is the kind and ``place`` what stands behind its colon; ``image_size`` is (width,
    height); ``augment`` is for Dask's workers and copies to predict, ``augment_in_model`` for
    training where there are no such workers; ``freeze`` is none, body or a number of layers;
    ``batch_size`` is per rank; ``learning_rate`` is the one before scaling; ``limit``,
    ``max_steps`` and ``checkpoint_steps`` are None where nothing is cut; ``read_ahead`` is in MiB;
    ``track_wait`` is in seconds.
    """

    data: str
    place: str | None
    data_dir: str | None
    image_size: tuple[int, int] | None
    decode: str
    remainder: str
    augment: tuple[str, ...]
    augment_in_model: tuple[str, ...]
    scheduler: str | None
    predict_copies: int
    read_ahead: int
    shuffle_groups: int
    model: str
    weights: str
    freeze: str | int
    dropout: float
    precision: str
    optimizer: str
    epochs: int
    batch_size: int
    learning_rate: float
    lr_scaling: str
    warmup_epochs: int
    sync: Sync
    compression: str
    backward_passes: int
    divide: str
    seed: int
    limit: int | None
    max_steps: int | None
    validate: bool
    checkpoint_dir: str | None
    checkpoint_steps: int | None
    checkpoint_minutes: float | None
    keep_checkpoints: int
    model_dir: str | None
    track: tuple[str, ...]
    track_wait: int


def parse(argv: Sequence[str] | None = None) -> Settings:
    """The settings that ``argv`` (default: the process's own) asks for.

    Raises:
        SystemExit: With 2 after a line that says what is wrong, with 0 after ``--help``.
    """
    parser = _Parser(allow_abbrev=False)
    options.add_to(parser)
    given, unknown = parser.parse_known_args(argv)
    if unknown:
        parser.error(_unknown(unknown[0], parser))
    settings = _settings(given)
    for problem in (
        training.problem(given, settings),
        data.problem(given, settings),
        augmentation.problem(settings),
        tracking.problem(given),
        models.problem(given, settings.model),
        of_exchange(settings),
    ):
        if problem:
            parser.error(problem)
    return settings


def _settings(given: Any) -> Settings:
    kind, place = given.data
    defaults = KINDS[kind].defaults
    epochs = given.epochs or defaults.epochs
    warmup = given.warmup_epochs
    if warmup is None:
        warmup = 0 if given.lr_scaling == "none" else min(training.WARM_UP_EPOCHS, epochs - 1)
    of_optimizer = (
        defaults.learning_rate if given.optimizer == "adam" else training.SGD_LEARNING_RATE
    )
    return Settings(
        data=kind,
        place=place,
        data_dir=given.data_dir,
        image_size=given.image_size,
        decode=given.decode,
        remainder=given.remainder,
        augment=given.augment or augmentation.AUGMENT,
        augment_in_model=() if kind == "augment" else given.augment or (),
        scheduler=given.scheduler,
        predict_copies=given.predict_copies,
        read_ahead=given.read_ahead or data.READ_AHEAD,
        shuffle_groups=given.shuffle_groups or data.SHUFFLE_GROUPS,
        model=given.model or defaults.model,
        weights=given.weights,
        freeze=given.freeze,
        dropout=given.dropout,
        precision=given.precision,
        optimizer=given.optimizer,
        epochs=epochs,
        batch_size=given.batch_size or defaults.batch_size,
        learning_rate=given.lr or of_optimizer,
        lr_scaling=given.lr_scaling,
        warmup_epochs=warmup,
        sync=given.sync,
        compression=given.compression,
        backward_passes=given.backward_passes,
        divide=given.divide,
        seed=given.seed,
        limit=given.limit,
        max_steps=given.max_steps_per_epoch,
        validate=given.validate,
        checkpoint_dir=given.checkpoint_dir,
        checkpoint_steps=given.checkpoint_steps,
        checkpoint_minutes=given.checkpoint_minutes,
        keep_checkpoints=given.keep_checkpoints,
        model_dir=given.model_dir,
        track=given.track,
        track_wait=tracking.TRACK_WAIT if given.track_wait is None else given.track_wait,
    )


class _Parser(argparse.ArgumentParser):
    """Rank 0 alone says what is wrong; every rank leaves with the same exit code."""

    def error(self, message: str) -> NoReturn:
        if speaks_for_all(os.environ):
            print(f"{self.prog}: error: {message}", file=sys.stderr, flush=True)
        else:
            leave_after_speaker()
        sys.exit(2)


def _unknown(word: str, parser: argparse.ArgumentParser) -> str:
    flags: list[str] = [flag for action in parser._actions for flag in action.option_strings]
    near = difflib.get_close_matches(word.split("=")[0], flags, n=1)
    return f"unknown argument {word}" + (f"; did you mean {near[0]}?" if near else "")
