"""The options of the data: which, where it lies, how it is read and divided."""

from __future__ import annotations

import argparse
import difflib
from typing import TYPE_CHECKING, Any

from ..data.division import REMAINDERS
from ..data.kinds import KINDS, forms
from .values import whole

if TYPE_CHECKING:
    from ..arguments import Settings

DECODINGS = ("full", "scaled")
READ_AHEAD = 256  # MiB
SHUFFLE_GROUPS = 16


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds these options."""
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


def problem(given: Any, settings: Settings) -> str | None:
    """What these options have against each other, in a line."""
    data = settings.data
    if settings.data_dir and not KINDS[data].has_folder:
        return (
            "argument --data-dir: --data digits comes with scikit-learn and reads no folder; "
            "add --data fashion-mnist or leave --data-dir out"
        )
    if settings.data_dir and settings.place and data != "tfds":
        return (
            f"argument --data-dir: --data {data}:{settings.place} names the place already; "
            "leave one of them out"
        )
    streamed = KINDS[data].streamed
    for flag in ("--read-ahead", "--shuffle-groups"):
        if getattr(given, flag[2:].replace("-", "_")) is not None and not streamed:
            return f"argument {flag}: --data {data} is not read in row groups; leave {flag} out"
    if streamed and settings.limit is not None:
        return (
            f"argument --limit: --data {data} is read as a stream and has no first N images; "
            "use --max-steps-per-epoch"
        )
    return None


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
