"""`launch data parquet`: pictures in class folders become Parquet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from launchers.cli.completion.values import of_metavar
from launchers.cli.show.output import answer, say_interrupted
from launchers.cli.values import FlagType
from launchers.cli.verb import Flag, Verb
from launchers.core.model.problems import EXIT_INTERRUPTED, EXIT_OK
from launchers.core.spec.value_types import Count

FOLDER = of_metavar("FOLDER")
PYTHON = "The Python that has pyarrow and Pillow. Default: the launcher's own."


@click.command(
    "parquet",
    cls=Verb,
    examples=(
        "launch data parquet food-101/images food --split 0.7,0.2,0.1 --seed 13",
        "launch data parquet photos s3://bucket/photos --size 256 --engine dask",
    ),
    short_help="Turn pictures in class folders into Parquet.",
    help="Turn pictures in class folders (IMAGES/class/picture.jpg) into Parquet files with a "
    "manifest. Folders, s3:// or gs://. The same command resumes an interrupted conversion.",
)
@click.argument("images", metavar="IMAGES", shell_complete=FOLDER)
@click.argument("out", metavar="OUT", shell_complete=FOLDER)
@click.option(
    "--split",
    metavar="FRACTIONS",
    cls=Flag,
    group="data",
    help="0.7,0.2,0.1 for train, validation and test.",
)
@click.option(
    "--seed",
    metavar="NUMBER",
    type=FlagType(Count(0, 2**63 - 1)),
    default="0",
    cls=Flag,
    group="data",
    help="Decides split, order and augmentation.",
)
@click.option(
    "--engine",
    type=click.Choice(("process", "dask", "spark")),
    default="process",
    cls=Flag,
    group="where",
    help="What reads and writes: this machine's cores, or a cluster. The files are the same.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    cls=Flag,
    group="where",
    help="Dask's: tcp://HOST:8786. Default: one here.",
)
@click.option(
    "--master",
    metavar="ADDRESS",
    cls=Flag,
    group="where",
    help="Spark's: spark://HOST:7077. Default: one here.",
)
@click.option(
    "--workers",
    metavar="NUMBER",
    type=FlagType(Count(1, 4096)),
    cls=Flag,
    group="where",
    help="The number of workers, for engines here. Default: one per core.",
)
@click.option(
    "--size",
    metavar="WxH",
    cls=Flag,
    group="data",
    help="Resize: 224, or 320x240. Default: as they are.",
)
@click.option(
    "--fit",
    type=click.Choice(("crop", "pad", "stretch")),
    cls=Flag,
    group="data",
    help="How another shape becomes that size. Default: crop.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(("keep", "jpeg", "png")),
    cls=Flag,
    group="data",
    help="How pictures are stored. Default: keep.",
)
@click.option(
    "--quality",
    metavar="NUMBER",
    type=FlagType(Count(1, 100)),
    cls=Flag,
    group="data",
    help="JPEG quality of re-encoded pictures. Default: 90.",
)
@click.option(
    "--augment",
    metavar="WAYS",
    cls=Flag,
    group="data",
    help="Make changed copies: crop,flip,rotate,color,zoom.",
)
@click.option(
    "--copies",
    metavar="NUMBER",
    type=FlagType(Count(0, 1000)),
    cls=Flag,
    group="data",
    help="Changed copies of each picture. Default: 1 with --augment.",
)
@click.option(
    "--bad-images",
    type=click.Choice(("skip", "fail")),
    cls=Flag,
    group="safety",
    help="What to do with a picture that cannot be read. Default: skip.",
)
@click.option(
    "--check",
    type=click.Choice(("header", "decode")),
    cls=Flag,
    group="safety",
    rare=True,
    help="How thoroughly to check each picture. Default: header.",
)
@click.option(
    "--rows-per-group",
    metavar="NUMBER",
    type=FlagType(Count(1, 1 << 20)),
    cls=Flag,
    group="data",
    rare=True,
    help="Rows that are read at once. Default: 256.",
)
@click.option(
    "--file-size",
    metavar="SIZE",
    cls=Flag,
    group="data",
    rare=True,
    help="Of original pictures in a file. Default: 128MiB.",
)
@click.option("--python", metavar="PATH", cls=Flag, group="where", help=PYTHON)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    cls=Flag,
    group="output",
    help="The answer as JSON on stdout.",
)
def parquet_command(
    images: str, out: str, python: str | None, as_json: bool, **asked: str | int | None
) -> int:
    """Convert, then say what came of it and what comes next."""
    from launchers.cli.show.conversion import ConversionScreen, say_converted
    from launchers.cli.show.data_as_json import converted_as_json
    from launchers.data.conversion import Conversion
    from launchers.data.environment import ENGINES, python_of, require

    chosen = python_of(python)
    modules, extra = ENGINES[str(asked["engine"])]
    require(chosen, modules, extra)
    result: dict[str, Any] = {}
    try:
        with ConversionScreen() as screen, Conversion(chosen, [images, out, *_words(asked)]) as run:
            for event in run.events():
                screen.show(event)
                result = event
    except KeyboardInterrupt:
        say_interrupted(
            "data parquet",
            f"{out} is not finished, and holds what is done so far",
            "run the same command to resume from there",
        )
        return EXIT_INTERRUPTED
    say_converted(result, out)
    if as_json:
        answer(converted_as_json(result, screen.bad))
    return EXIT_OK


def _words(asked: Mapping[str, str | int | None]) -> list[str]:
    """The converter's own options, as they were given."""
    flags = {"form": "--format"}
    return [
        word
        for name, value in asked.items()
        if value is not None
        for word in (flags.get(name, f"--{name.replace('_', '-')}"), str(value))
    ]
