"""The command line of a conversion, with an answer for every impossible value."""

from __future__ import annotations

import argparse
import math
import re
from dataclasses import dataclass
from typing import Any, Callable, Sequence

from ..data.layout import SPLITS
from ..pictures import augmenting, encoding, resizing
from ..pictures.recipe import Recipe
from . import engines

_MOST_PIXELS_A_SIDE = 16384
_FIT, _QUALITY = "crop", 90
_UNITS = {"": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_UNITS.update({"kb": 10**3, "mb": 10**6, "gb": 10**9})


@dataclass(frozen=True)
class Options:
    """What is asked for, complete.

    ``file_size`` is in bytes of originals, ``address`` a Dask scheduler's or a Spark master's.
    """

    source: str
    place: str
    fractions: tuple[float, ...]
    seed: int
    recipe: Recipe
    rows_per_group: int
    file_size: int
    skip_bad: bool
    decode: bool
    engine: str
    address: str | None
    workers: int | None
    json: bool
    until_stdin_ends: bool

    def as_mapping(self) -> dict[str, Any]:
        """What decides over the files that are made, as JSON values; the source is not among it."""
        return {
            "seed": self.seed,
            "split": list(self.fractions),
            **self.recipe.as_mapping(),
            "rows_per_group": self.rows_per_group,
            "file_size": self.file_size,
            "bad_images": "skip" if self.skip_bad else "fail",
            "check": "decode" if self.decode else "header",
        }


def parse(argv: Sequence[str] | None, parser_class: Callable[..., Any]) -> Options:
    """The options that ``argv`` (default: the process's own) asks for.

    ``parser_class``'s ``error`` says what is wrong; it does not come back.
    """
    parser = _parser(parser_class)
    given = parser.parse_args(argv)
    copies = given.copies if given.copies is not None else int(bool(given.augment))
    if copies and not given.augment:
        parser.error(
            f"argument --copies: {copies}, but nothing makes a copy another picture; "
            f"add --augment {','.join(augmenting.KINDS)} or some of these"
        )
    for engine, address in (("dask", "scheduler"), ("spark", "master")):
        if getattr(given, address) and given.engine != engine:
            parser.error(f"argument --{address}: is for --engine {engine}, not {given.engine}")
    _refuse_idle(parser, given, copies)
    recipe = Recipe(
        given.size,
        given.fit or _FIT,
        given.format,
        _QUALITY if given.quality is None else given.quality,
        given.augment,
        copies,
        given.seed,
    )
    return Options(
        source=given.images,
        place=given.out,
        fractions=given.split,
        seed=given.seed,
        recipe=recipe,
        rows_per_group=given.rows_per_group,
        file_size=given.file_size,
        skip_bad=given.bad_images == "skip",
        decode=given.check == "decode",
        engine=given.engine,
        address=given.scheduler or given.master,
        workers=given.workers,
        json=given.events == "json",
        until_stdin_ends=given.until_stdin_ends,
    )


def _refuse_idle(parser: Any, given: argparse.Namespace, copies: int) -> None:
    """Refuses what would change no picture, and yet make the place another conversion's."""
    if given.fit and given.size is None:
        parser.error(
            f"argument --fit: {given.fit}, but no picture is resized; expected --size beside it"
        )
    if given.quality is None:
        return
    if given.format == "png":
        parser.error(
            f"argument --quality: {given.quality}, but --format png stores no JPEG; expected "
            "--format jpeg or keep beside it"
        )
    if given.size is None and given.format == "keep" and not copies:
        parser.error(
            f"argument --quality: {given.quality}, but no picture is written anew; expected "
            "--size, --format jpeg or --augment beside it"
        )


def _parser(parser_class: Callable[..., Any]) -> Any:
    parser = parser_class(
        prog="convert_images.py",
        description="Class folders of pictures become Parquet, in train, validation and test.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("images", metavar="IMAGES", help="folder, s3://... or gs://... of class folders")
    add("out", metavar="OUT", help="folder, s3://... or gs://... that is written")
    add("--split", type=_fractions, default=(1.0,), help="train,validation,test: 0.7,0.2,0.1")
    add("--seed", type=_whole(0, 2**63 - 1), default=0, help="of the split, the order, the copies")
    add("--engine", choices=engines.NAMES, default="process", help="what does the work")
    add("--scheduler", help="address of a Dask scheduler; default: a local cluster")
    add("--master", help="address of a Spark master; default: this machine")
    add("--workers", type=_whole(1, 4096), help="processes; default: the cores of this machine")
    add("--size", type=_size, help="WIDTHxHEIGHT in pixels, or one number for both")
    add("--fit", choices=resizing.FITS, help=f"how a picture comes to --size; {_FIT} if left out")
    add("--format", choices=encoding.FORMATS, default="keep", help="of the stored pictures")
    anew = f"of JPEG, where pictures are made anew; {_QUALITY} if left out"
    add("--quality", type=_whole(1, 100), help=anew)
    add("--augment", type=_kinds, default=(), help="of copies: " + ",".join(augmenting.KINDS))
    add("--copies", type=_whole(0, 1000), help="augmented copies of a picture; 1 with --augment")
    add("--rows-per-group", type=_whole(1, 1 << 20), default=256, help="rows of a row group")
    add("--file-size", type=_byte_count, default="128MiB", help="originals that make a file")
    add("--bad-images", choices=("skip", "fail"), default="skip", help="skip lists them")
    add(
        "--check",
        choices=("header", "decode"),
        default="header",
        help="how it is seen that a picture is whole, where its bytes are stored as they are",
    )
    add("--events", choices=("plain", "json"), default="plain", help="what stdout says")
    add("--until-stdin-ends", action="store_true", help="end at once when stdin is closed")
    return parser


def _fractions(text: str) -> tuple[float, ...]:
    try:
        found = tuple(float(one) for one in text.split(","))
    except ValueError:
        found = ()
    if not 1 <= len(found) <= len(SPLITS) or not all(0 < one <= 1 for one in found):
        raise argparse.ArgumentTypeError(
            f"{text}, expected 1 to 3 numbers above 0 ({','.join(SPLITS)}): 0.7,0.2,0.1"
        )
    if not math.isclose(sum(found), 1, abs_tol=1e-6):
        raise argparse.ArgumentTypeError(f"{text} sums to {sum(found):g}, expected 1")
    return found


def _size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,5})(?:[xX](\d{1,5}))?", text)
    size = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not all(1 <= side <= _MOST_PIXELS_A_SIDE for side in size):
        raise argparse.ArgumentTypeError(
            f"{text}, expected WIDTHxHEIGHT or one number, in pixels up to {_MOST_PIXELS_A_SIDE}: "
            "224x224 or 224"
        )
    return size


def _kinds(text: str) -> tuple[str, ...]:
    found = [kind.strip() for kind in text.split(",")]
    for kind in found:
        if kind not in augmenting.KINDS:
            raise argparse.ArgumentTypeError(
                f"{kind or 'nothing'}, expected some of {','.join(augmenting.KINDS)}"
            )
    return tuple(kind for kind in augmenting.KINDS if kind in found)


def _byte_count(text: str) -> int:
    match = re.fullmatch(r"(\d+)\s*([A-Za-z]*)", text)
    if not match or match[2].lower() not in _UNITS or not int(match[1]):
        raise argparse.ArgumentTypeError(f"{text}, expected a size: 128MiB, 64MB or bytes")
    return int(match[1]) * _UNITS[match[2].lower()]


def _whole(least: int, most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not re.fullmatch(r"\d{1,20}", text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(
                f"{text}, expected a whole number from {least} to {most}"
            )
        return int(text)

    return number
