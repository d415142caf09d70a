"""The command line of the image classifier, with an answer for every impossible value."""

from __future__ import annotations

import argparse
import difflib
import math
import os
import sys
from dataclasses import dataclass
from typing import Callable, NoReturn, Sequence

from .errors import leave_after_speaker, speaks_for_all
from .schedules import SCALINGS

DATA_SETS = ("digits", "fashion-mnist")
MODELS = ("mlp", "cnn")
OPTIMIZERS = ("adam", "sgd")
WARM_UP_EPOCHS = 3


@dataclass(frozen=True)
class Defaults:
    """What a data set is trained with when the command line does not say."""

    model: str
    epochs: int
    batch_size: int
    learning_rate: float


# Test accuracies measured with two ranks: digits 0.9805 to 0.9889 over seeds 1 to 5, fashion-mnist
# 0.898 and 0.914 with seeds 1 and 2.
DEFAULTS = {
    "digits": Defaults(model="cnn", epochs=10, batch_size=32, learning_rate=0.005),
    "fashion-mnist": Defaults(model="cnn", epochs=5, batch_size=64, learning_rate=0.001),
}
SGD_LEARNING_RATE = 0.05


@dataclass(frozen=True)
class Settings:
    """The command line, complete: every default is filled in.

    ``batch_size`` is per rank; ``learning_rate`` is the one before scaling; ``limit`` and
    ``max_steps`` are None where nothing is cut.
    """

    data: str
    data_dir: str | None
    model: str
    optimizer: str
    epochs: int
    batch_size: int
    learning_rate: float
    lr_scaling: str
    warmup_epochs: int
    seed: int
    limit: int | None
    max_steps: int | None
    checkpoint_dir: str | None
    keep_checkpoints: int
    model_dir: str | None


def parse(argv: Sequence[str] | None = None) -> Settings:
    """The settings that ``argv`` (default: the process's own) asks for.

    Raises:
        SystemExit: With 2 after a line that says what is wrong, with 0 after ``--help``.
    """
    parser = _parser()
    given, unknown = parser.parse_known_args(argv)
    if unknown:
        parser.error(_unknown(unknown[0], parser))
    defaults = DEFAULTS[given.data]
    scaled = given.lr_scaling != "none"
    settings = Settings(
        data=given.data,
        data_dir=given.data_dir,
        model=given.model or defaults.model,
        optimizer=given.optimizer,
        epochs=given.epochs or defaults.epochs,
        batch_size=given.batch_size or defaults.batch_size,
        learning_rate=given.lr
        or (defaults.learning_rate if given.optimizer == "adam" else SGD_LEARNING_RATE),
        lr_scaling=given.lr_scaling,
        warmup_epochs=given.warmup_epochs
        if given.warmup_epochs is not None
        else (min(WARM_UP_EPOCHS, (given.epochs or defaults.epochs) - 1) if scaled else 0),
        seed=given.seed,
        limit=given.limit,
        max_steps=given.max_steps_per_epoch,
        checkpoint_dir=given.checkpoint_dir,
        keep_checkpoints=given.keep_checkpoints,
        model_dir=given.model_dir,
    )
    if given.warmup_epochs and not scaled:
        parser.error(
            f"argument --warmup-epochs: {given.warmup_epochs}, but --lr-scaling is none and there "
            "is nothing to warm up to; add --lr-scaling linear or sqrt"
        )
    if settings.warmup_epochs > settings.epochs:
        parser.error(
            f"argument --warmup-epochs: {settings.warmup_epochs} is more than the "
            f"{settings.epochs} epochs of this run"
        )
    if given.data_dir and given.data == "digits":
        parser.error(
            "argument --data-dir: --data digits comes with scikit-learn and reads no folder; "
            "add --data fashion-mnist or leave --data-dir out"
        )
    return settings


class _Parser(argparse.ArgumentParser):
    """Rank 0 alone says what is wrong; every rank leaves with the same exit code."""

    def error(self, message: str) -> NoReturn:
        if speaks_for_all(os.environ):
            print(f"{self.prog}: error: {message}", file=sys.stderr, flush=True)
        else:
            leave_after_speaker()
        sys.exit(2)


def _parser() -> _Parser:
    parser = _Parser(
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Trains an image classifier with Keras and Horovod on any number of ranks.",
        epilog="Checkpoints go to --checkpoint-dir, LAUNCH_CHECKPOINT_DIR or AIP_CHECKPOINT_DIR;\n"
        "the model and metrics.json to --model-dir, SM_MODEL_DIR, AIP_MODEL_DIR or\n"
        "LAUNCH_MODEL_DIR. A start that finds a checkpoint goes on after it.",
    )
    _add_data_and_model(parser)
    _add_training(parser)
    places = parser.add_argument_group("output")
    places.add_argument("--checkpoint-dir", metavar="DIR", help="folder or gs:// address")
    places.add_argument(
        "--keep-checkpoints",
        type=_whole(1),
        default=2,
        metavar="N",
        help="how many of the newest checkpoints stay (default 2)",
    )
    places.add_argument("--model-dir", metavar="DIR", help="folder or gs:// address")
    return parser


def _add_data_and_model(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("data and model")
    group.add_argument("--data", choices=DATA_SETS, default="digits", help="default digits")
    group.add_argument(
        "--data-dir",
        metavar="DIR",
        help="folder with the MNIST-format files of fashion-mnist (default: the SM_CHANNEL_* "
        "folders, Debian's package, Keras's download)",
    )
    group.add_argument("--limit", type=_whole(1), metavar="N", help="first N training images only")
    group.add_argument("--model", choices=MODELS, help=_by_data_set("model"))


def _add_training(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("training")
    group.add_argument("--epochs", type=_whole(1), metavar="N", help=_by_data_set("epochs"))
    group.add_argument(
        "--batch-size",
        type=_whole(1),
        metavar="N",
        help="images a step on each rank; " + _by_data_set("batch_size"),
    )
    group.add_argument("--max-steps-per-epoch", type=_whole(1), metavar="N", help="cut the epochs")
    group.add_argument("--optimizer", choices=OPTIMIZERS, default="adam", help="default adam")
    group.add_argument(
        "--lr",
        type=_rate,
        metavar="RATE",
        help="learning rate of one rank; {}, with sgd {:g}".format(
            _by_data_set("learning_rate"), SGD_LEARNING_RATE
        ),
    )
    group.add_argument(
        "--lr-scaling",
        choices=SCALINGS,
        default="none",
        help="multiply the rate by the world size or its square root (default none)",
    )
    group.add_argument(
        "--warmup-epochs",
        type=_whole(0),
        metavar="N",
        help=f"epochs in which the rate rises to the scaled one (default {WARM_UP_EPOCHS})",
    )
    group.add_argument(
        "--seed",
        type=_whole(0, 2**32 - 1),
        default=1,
        metavar="N",
        help="of first weights and order of images (default 1)",
    )


def _by_data_set(name: str) -> str:
    values = [f"{getattr(DEFAULTS[data], name)} for {data}" for data in DATA_SETS]
    return "default " + ", ".join(values)


def _whole(least: int, most: int | None = None) -> Callable[[str], int]:
    bounds = f"at least {least}" if most is None else f"from {least} to {most}"

    def whole_number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least or (most is not None and value > most):
            raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number, {bounds}")
        return value

    return whole_number


def _rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number above 0, such as 0.001")
    return value


def _unknown(word: str, parser: argparse.ArgumentParser) -> str:
    flags: list[str] = [flag for action in parser._actions for flag in action.option_strings]
    near = difflib.get_close_matches(word.split("=")[0], flags, n=1)
    return f"unknown argument {word}" + (f"; did you mean {near[0]}?" if near else "")
