"""`launch data info|show`: what a place of pictures holds, and some of them; the group of both and
of `parquet` (data_parquet.py)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from launchers.cli.show.output import answer, say, say_problems, styled
from launchers.cli.values import FlagType
from launchers.cli.verb import Verb
from launchers.cli.verb_group import VerbGroup
from launchers.cli.verbs.data_parquet import FOLDER, PYTHON, parquet_command
from launchers.core.model.problems import EXIT_OK, LaunchError
from launchers.core.spec.value_types import Count

if TYPE_CHECKING:
    from launchers.cli.answers.data import ContactSheetAnswer
    from launchers.data.place import Place, PlaceSplit

_RANKS = (1, 2, 4, 8)


@click.group(
    "data",
    cls=VerbGroup,
    examples=(
        "launch data parquet photos food --split 0.7,0.2,0.1",
        "launch data info food --ranks 4",
    ),
    elsewhere={
        "convert": "launch data parquet IMAGES OUT",
        "list": "launch data info OUT",
        "check": "launch data info OUT --verify",
    },
    help="Pictures as Parquet for the ranks: make it, look into it, see some.",
)
def command() -> None:
    """The group of the verbs below."""


command.add_command(parquet_command)


@command.command(
    "info",
    cls=Verb,
    examples=("launch data info food", "launch data info food --ranks 6 --batch-size 32 --verify"),
    short_help="Show what a place holds, and whether it feeds N ranks.",
    help="What a place holds: splits, classes, files, row groups, and whether ranks can be fed "
    "evenly from it. Reads the manifest alone; a folder of Parquet without one as well.",
)
@click.argument("place", metavar="OUT", shell_complete=FOLDER)
@click.option(
    "--ranks",
    metavar="NUMBER",
    type=FlagType(Count(1, 65536)),
    multiple=True,
    help="The number of ranks to feed (repeatable). Default: 1, 2, 4, 8.",
)
@click.option(
    "--batch-size",
    metavar="NUMBER",
    type=FlagType(Count(1, 1_000_000)),
    default="64",
    help="The batch size of a rank.",
)
@click.option("--split", metavar="NAME", help="Only this split.")
@click.option("--verify", is_flag=True, help="Read every file and compare its hash, too.")
@click.option("--python", metavar="PATH", help=PYTHON)
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON on stdout.")
def info_command(
    place: str,
    ranks: tuple[int, ...],
    batch_size: int,
    split: str | None,
    verify: bool,
    python: str | None,
    as_json: bool,
) -> int:
    """Read, check that all files are there, and print."""
    from launchers.cli.show.data_as_json import info_as_json
    from launchers.cli.show.data_place import tell_feeding, tell_place
    from launchers.data.feeding import feeding, problems
    from launchers.data.place_problems import problems_in_rows

    found = _read(place, python, whole=verify)
    if verify:
        _verify(found, python)
    splits = _chosen(found, split)
    fed = {
        one.name: [feeding(one.rows, len(one.row_groups), n, batch_size) for n in ranks or _RANKS]
        for one in splits
    }
    # Where no number of ranks was asked for, the table says it.
    told = [one for split in splits for one in problems(split.name, fed[split.name])]
    warnings = [*problems_in_rows(found), *(told if ranks else [])]
    if as_json:
        answer(info_as_json(found, splits, fed, batch_size, verify, warnings))
    else:
        tell_place(found, splits)
        tell_feeding(splits, fed, batch_size)
    say_problems(warnings)
    return EXIT_OK


@command.command(
    "show",
    cls=Verb,
    examples=("launch data show food", "launch data show food --split test --count 64"),
    short_help="Write a contact sheet, a PNG picture of a sample.",
    help="Write a contact sheet: a PNG picture of a random sample, each with its class.",
)
@click.argument("place", metavar="OUT", shell_complete=FOLDER)
@click.option("--split", metavar="NAME", help="The split to show. Default: the first, train.")
@click.option(
    "--count",
    metavar="NUMBER",
    type=FlagType(Count(1, 1000)),
    default="40",
    help="Pictures on the sheet.",
)
@click.option(
    "--seed",
    metavar="NUMBER",
    type=FlagType(Count(0, 2**31 - 1)),
    default="0",
    help="The seed of the sample.",
)
@click.option("-o", "--output", metavar="FILE", default="sheet.png", help="The file to write.")
@click.option("--python", metavar="PATH", help=PYTHON)
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON on stdout.")
def show_command(
    place: str,
    split: str | None,
    count: int,
    seed: int,
    output: str,
    python: str | None,
    as_json: bool,
) -> int:
    """Draw it in the Python that has Pillow, and say where it lies."""
    from launchers.data.environment import python_of
    from launchers.data.sheet import draw_sheet, require_png

    require_png(output)
    found = _read(place, python)
    of = _chosen(found, split)[0]
    drawn = draw_sheet(python_of(python), found, of, count, seed, os.path.abspath(output))
    where = f" of {of.name}" if of.name else ""
    say(f"{styled(output, 'bold')}: {drawn.shown} of {of.rows:,} pictures{where}, seed {seed}")
    if drawn.not_decoded:
        say(f"  {drawn.not_decoded} of them cannot be decoded, and are shown as red frames")
    if as_json:
        sheet: ContactSheetAnswer = {
            "file": os.path.abspath(output),
            "split": of.name,
            "shown": drawn.shown,
            "not_decoded": drawn.not_decoded,
            "rows": of.rows,
            "seed": seed,
        }
        answer(sheet)
    return EXIT_OK


def _read(place: str, python: str | None, whole: bool = False) -> Place:
    """The place, whose files are all there.

    Raises:
        LaunchError: It is none, or lacks files of its manifest.
    """
    from launchers.data.environment import python_of
    from launchers.data.place import read_place
    from launchers.data.place_problems import problems_in_files

    found = read_place(place, lambda: python_of(python), whole)
    if wrong := problems_in_files(found):
        raise LaunchError(wrong)
    return found


def _chosen(place: Place, name: str | None) -> Sequence[PlaceSplit]:
    from launchers.data.place import chosen_splits

    return chosen_splits(place, name)


def _verify(place: Place, python: str | None) -> None:
    import sys

    from launchers.cli.show.data_place import say_verified
    from launchers.cli.show.progress import BYTES, Bar
    from launchers.data.environment import python_of
    from launchers.data.place_problems import problems_in_hashes

    bar = Bar(sys.stderr, BYTES)
    try:
        wrong = problems_in_hashes(
            place,
            lambda: python_of(python),
            lambda done, total: bar.show("reading the files", done, total),
        )
    finally:
        bar.end()
    if wrong:
        raise LaunchError(wrong)
    if place.has_manifest:
        files = [file for split in place.splits for file in split.files]
        say_verified(len(files), sum(file.bytes for file in files))
