"""The options of the image classifier and what each may be: their words, not their meaning."""

from __future__ import annotations

import argparse
import difflib
import math
from typing import Callable

from . import model_options, sync
from .data import dask_connection
from .data.division import REMAINDERS
from .data.kinds import KINDS, forms
from .pictures import augmenting
from .schedules import SCALINGS
from .tracking import names as trackers

OPTIMIZERS = ("adam", "sgd")
DECODINGS = ("full", "scaled")
WARM_UP_EPOCHS = 3
READ_AHEAD = 256  # MiB
SHUFFLE_GROUPS = 16
AUGMENT = ("crop", "flip")
SGD_LEARNING_RATE = 0.05
TRACK_WAIT = 60  # seconds
EPILOG = """\
Checkpoints go to --checkpoint-dir, LAUNCH_CHECKPOINT_DIR or AIP_CHECKPOINT_DIR;
the model and metrics.json to --model-dir, SM_MODEL_DIR, AIP_MODEL_DIR or
LAUNCH_MODEL_DIR. A start that finds a checkpoint goes on after it.
A FOLDER or PLACE that is left out is --data-dir, else the input channel
(SM_CHANNEL_TRAINING, SM_CHANNEL_TRAIN, another SM_CHANNEL_*)."""


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds every option to ``parser``."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = "Trains an image classifier on any number of ranks."
    parser.epilog = EPILOG
    _add_data(parser)
    _add_augmentation(parser)
    _add_training(parser)
    _add_exchange(parser)
    _add_output(parser)
    _add_tracking(parser)


def _add_data(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("data")
    group.add_argument(
        "--data", type=_data, default=("digits", None), metavar="KIND", help=", ".join(forms())
        + " (default digits)",
    )  # fmt: skip
    group.add_argument(
        "--data-dir",
        metavar="DIR",
        help="where the data lies, for kinds without a place behind them (default: the "
        "SM_CHANNEL_* folders, then what a package or a download of the framework has left)",
    )
    group.add_argument("--limit", type=whole(1), metavar="N", help="first N training images only")
    group.add_argument(
        "--image-size",
        type=_image_size,
        metavar="N|WxH",
        help="pixels that the model gets (default: as stored where all have one size, else 224)",
    )
    group.add_argument(
        "--decode",
        choices=DECODINGS,
        default="full",
        help="scaled: JPEG pictures of at least twice the wanted size are decoded at a smaller "
        "one, faster and with slightly other pixels (default full)",
    )
    group.add_argument(
        "--remainder",
        choices=REMAINDERS,
        default="drop",
        help="samples that do not divide over the ranks: left out of an epoch, padded with "
        "samples of weight 0, or one more on some ranks (default drop)",
    )
    group.add_argument(
        "--read-ahead",
        type=whole(1, 1 << 20),
        metavar="MIB",
        help=f"pictures of Parquet that a rank holds before they are due (default {READ_AHEAD})",
    )
    group.add_argument(
        "--shuffle-groups",
        type=whole(1),
        metavar="N",
        help="row groups of Parquet whose pictures are shuffled together, as far as they fit "
        f"into --read-ahead (default {SHUFFLE_GROUPS})",
    )


def _add_augmentation(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("augmentation")
    kinds = ",".join(augmenting.KINDS)
    group.add_argument(
        "--augment",
        type=_kinds,
        metavar="KINDS",
        help=f"of {kinds}: what is done to training pictures, by Dask's workers with --data "
        f"augment:PLACE (default {','.join(AUGMENT)}), else by a layer of the model (default "
        f"nothing), and what is done for --predict-copies (default {','.join(AUGMENT)})",
    )
    group.add_argument(
        "--scheduler",
        type=_scheduler,
        metavar="ADDRESS",
        help="Dask scheduler, tcp://HOST:PORT or tls://HOST:PORT, of --data augment:PLACE "
        "(default: one of each host's own, with a worker a core)",
    )
    group.add_argument(
        "--predict-copies",
        type=whole(0, 1000),
        default=0,
        metavar="N",
        help="test predictions are averaged over each picture and N augmented copies (default 0)",
    )


def _kinds(text: str) -> tuple[str, ...]:
    words = tuple(text.split(","))
    for word in words:
        if word not in augmenting.KINDS or words.count(word) > 1:
            raise argparse.ArgumentTypeError(
                f"{text!r}: expected one or several of {', '.join(augmenting.KINDS)}, with commas"
            )
    return words


def _scheduler(text: str) -> str:
    if not dask_connection.ADDRESS.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected tcp://HOST:PORT or tls://HOST:PORT, as a Dask scheduler says it"
        )
    return text


def _add_training(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("model and training")
    model_options.add_to(group, _by_data_set("model"))
    group.add_argument("--epochs", type=whole(1), metavar="N", help=_by_data_set("epochs"))
    group.add_argument(
        "--batch-size",
        type=whole(1),
        metavar="N",
        help="images a step on each rank; " + _by_data_set("batch_size"),
    )
    group.add_argument("--max-steps-per-epoch", type=whole(1), metavar="N", help="cut the epochs")
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
        type=whole(0),
        metavar="N",
        help=f"epochs in which the rate rises to the scaled one (default {WARM_UP_EPOCHS})",
    )
    group.add_argument(
        "--seed",
        type=whole(0, 2**32 - 1),
        default=1,
        metavar="N",
        help="of first weights and order of images (default 1)",
    )
    group.add_argument(
        "--validate",
        action="store_true",
        help="evaluate on the whole test split after every epoch too",
    )


def _add_exchange(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("exchange between ranks")
    group.add_argument(
        "--sync",
        type=sync.parse,
        default=sync.Sync(),
        metavar="HOW",
        help="gradients of every step, averaged or by Adasum (which needs mpirun), or K steps (an "
        f"epoch) of each rank alone and then averaged parameters: {sync.FORMS} (default allreduce)",
    )
    group.add_argument(
        "--compression",
        choices=sync.COMPRESSIONS,
        default=sync.NONE,
        help="gradients travel as they are, or in 16 bits (default none)",
    )
    group.add_argument(
        "--backward-passes",
        type=whole(1),
        default=1,
        metavar="N",
        help="batches whose gradients a rank adds up before they are exchanged (default 1)",
    )
    group.add_argument(
        "--divide",
        choices=sync.DIVIDED,
        default=sync.SAMPLES,
        help="each rank reads its share of an epoch's samples, or all of them in its share of the "
        "epochs (default samples)",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    places = parser.add_argument_group("output")
    places.add_argument("--checkpoint-dir", metavar="DIR", help="folder or gs:// address")
    places.add_argument(
        "--checkpoint-steps",
        type=whole(1),
        metavar="N",
        help="a checkpoint after every N steps of an epoch too (default: after each epoch)",
    )
    places.add_argument(
        "--checkpoint-minutes",
        type=_minutes,
        metavar="M",
        help="a checkpoint too where the last one is M minutes old, such as 10 or 0.5",
    )
    places.add_argument(
        "--keep-checkpoints",
        type=whole(1),
        default=2,
        metavar="N",
        help="how many of the newest checkpoints stay (default 2)",
    )
    places.add_argument("--model-dir", metavar="DIR", help="folder or gs:// address")


def _add_tracking(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("tracking")
    group.add_argument(
        "--track",
        type=_trackers,
        default=(),
        metavar="WHERE",
        help=f"one or several of {','.join(trackers.NAMES)}: parameters, metrics, world and model "
        "of the run, to MLFLOW_TRACKING_URI or the model's folder, and to TensorBoard's files",
    )
    group.add_argument(
        "--track-wait",
        type=whole(0, 86400),
        metavar="SECONDS",
        help="that the end waits for a server that hasn't taken all yet; the rest is kept in a "
        f"file (default {TRACK_WAIT})",
    )


def _trackers(text: str) -> tuple[str, ...]:
    words = tuple(text.split(","))
    for word in words:
        if word not in trackers.NAMES or words.count(word) > 1:
            raise argparse.ArgumentTypeError(
                f"{text!r}: expected one or several of {', '.join(trackers.NAMES)}, with commas"
            )
    return words


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """A reader of whole numbers within these bounds, for argparse."""
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


def _data(text: str) -> tuple[str, str | None]:
    """("parquet", "PLACE") from parquet:PLACE; None behind a kind that stands alone."""
    name, colon, behind = text.partition(":")
    kind = KINDS.get(name)
    if kind is None:
        near = difflib.get_close_matches(name, KINDS, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise argparse.ArgumentTypeError(
            f"{text!r}: no such kind; expected one of {', '.join(forms())}{meant}"
        )
    if colon and kind.behind is None:
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected nothing behind {name}; for a folder add --data-dir"
            if kind.has_folder
            else f"{text!r}: expected nothing behind {name}"
        )
    if colon and not behind:
        raise argparse.ArgumentTypeError(f"{text!r}: expected {name}:{kind.behind}")
    if kind.behind == "NAME" and not behind:
        raise argparse.ArgumentTypeError(f"{text!r}: expected {name}:{kind.behind}")
    return name, behind or None


def _image_size(text: str) -> tuple[int, int]:
    """(width, height) from 224 or 320x240."""
    words = text.lower().split("x")
    if len(words) > 2 or not all(word.isascii() and word.isdigit() for word in words):
        words = ["0"]
    sides = [int(word) for word in words]
    if not all(1 <= side <= 8192 for side in sides):
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected pixels from 1 to 8192, such as 224 or 320x240 (width x height)"
        )
    return sides[0], sides[-1]


def _minutes(text: str) -> float:
    return _above_0(text, "10 or 0.5")


def _rate(text: str) -> float:
    return _above_0(text, "0.001")


def _above_0(text: str, example: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number above 0, such as {example}")
    return value


def _by_data_set(name: str) -> str:
    """Its default for each kind; the last names what holds for the most kinds."""
    values = {kind: getattr(about.defaults, name) for kind, about in KINDS.items()}
    of_pictures = values["images"]
    unlike = [f"{value} for {kind}" for kind, value in values.items() if value != of_pictures]
    return "default " + ", ".join(
        [*unlike, f"{of_pictures} for others" if unlike else f"{of_pictures}"]
    )
