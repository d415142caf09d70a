"""The flags of `launch scaling PROVIDER` that a single job does not have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from launchers.cli.catalogue import RULES
from launchers.cli.jobs.submission import MOST_AT_ONCE, ignore_sdk_flag
from launchers.cli.values import FlagType
from launchers.cli.verb import Flag
from launchers.core.model.problems import LaunchError
from launchers.core.provider import Provider
from launchers.core.spec.value_types import Choice, Count, Text, ValueType
from launchers.scaling.arguments import BATCH, BATCHES, NO_ARGUMENT, RANK, SEED
from launchers.scaling.grid import Compared, Counts, Grid
from launchers.scaling.planned import Wanted

_ARGUMENT = Text(r"[A-Za-z][A-Za-z0-9_.-]*", "the name of an argument, without its hyphens")
# What a study has lists of, in the help's order.
SIZES = ("processes", "instances", "gpus")


@dataclass(frozen=True)
class Price(ValueType):
    """US dollars an hour, of every machine or of a type: ``5.67``, ``ml.g5.12xlarge=7.09``."""

    expected: str = "US dollars an hour, such as 5.67 or ml.g5.12xlarge=7.09"

    def parse(self, value: Any) -> tuple[str, float]:
        machine, equals, text = value.rpartition("=") if isinstance(value, str) else ("", "", "")
        if not re.fullmatch(r"\d{1,6}(\.\d{1,6})?", text) or (equals and not machine):
            raise ValueError
        return machine, float(text)


def study_flags(chosen: Provider) -> list[click.Option]:
    """Sizes, comparisons, repeats and what they cost."""
    return [
        _sizes("--processes", "M,M", "Ranks on each host, one size each.", Counts(1, 512)),
        _sizes("--instances", "N,N", "Hosts, one size each.", Counts(1, 1000)),
        _sizes("--gpus", "G,G", "GPUs on each host, one size each.", Counts(0, 64)),
        Flag(
            ["--compare", "compared"],
            group="what",
            metavar="NAME=A,B",
            multiple=True,
            type=FlagType(Compared()),
            help="Run every size with each value, of a flag of ours or of the script's argument "
            "--NAME (repeatable).",
        ),
        Flag(
            ["--repeat"],
            group="what",
            metavar="N",
            type=FlagType(Count(1, 100)),
            default="3",
            help="The number of runs of each, with seeds 1 to N.",
        ),
        Flag(
            ["--batch"],
            group="what",
            metavar="|".join(BATCHES),
            type=FlagType(Choice(BATCHES)),
            default=RANK,
            help="Whether --batch-size is each rank's, or a total that they share.",
        ),
        Flag(
            ["--batch-argument"],
            group="what",
            rare=True,
            metavar="NAME",
            type=FlagType(_ARGUMENT),
            default=BATCH,
            help="The script's argument that has the batch.",
        ),
        Flag(
            ["--seed-argument"],
            group="what",
            rare=True,
            metavar="NAME",
            type=FlagType(_ARGUMENT),
            told_default=f"{SEED}, where the source has it",
            help=f"The script's argument that takes the seed; {NO_ARGUMENT} for no seed.",
        ),
        Flag(
            ["--output", "folder"],
            group="output",
            metavar="DIR",
            help="Where state, results and report lie. Default: a folder of the study.",
        ),
        Flag(
            ["--again"],
            group="what",
            is_flag=True,
            help="Repeat failed runs when resuming a study.",
        ),
        *(_paid_flags() if chosen.charges_money else []),
    ]


def list_text(numbers: Sequence[int]) -> str:
    """As it is typed."""
    return ",".join(map(str, numbers))


def _sizes(flag: str, metavar: str, about: str, kind: Counts) -> Flag:
    return Flag(
        [flag, f"grid_{flag[2:]}"],
        group="where",
        metavar=metavar,
        multiple=True,  # of two lists, the first is not dropped without a word
        type=FlagType(kind),
        help=about,
    )


def _paid_flags() -> list[click.Option]:
    return [
        Flag(["--yes"], group="money", is_flag=True, help="Start the jobs without being asked."),
        Flag(
            ["--price", "prices"],
            group="money",
            metavar="USD",
            multiple=True,
            type=FlagType(Price()),
            help="Price of one instance for an hour, or MACHINE=USD (repeatable). Without it the "
            "cost is unknown.",
        ),
        Flag(
            ["--max-parallel"],
            group="money",
            type=FlagType(Count(1, MOST_AT_ONCE)),
            metavar="N",
            help="The number of jobs at once. Default: all.",
        ),
        Flag(
            ["--cancel-on-interrupt"],
            group="money",
            rare=True,
            is_flag=True,
            help="End the jobs when this command is interrupted. Default: they go on.",
        ),
        ignore_sdk_flag(),
    ]


def wanted_of(values: Mapping[str, Any]) -> Wanted:
    """What the flags ask for.

    Raises:
        LaunchError: One of the sizes is given twice.
    """
    sizes = {name: values[f"grid_{name}"] for name in SIZES}
    twice = {name: lists for name, lists in sizes.items() if len(lists) > 1}
    if twice:
        raise LaunchError(
            RULES["flag-twice"].at(f"--{name}", " and ".join(map(list_text, lists))[:80])
            for name, lists in twice.items()
        )
    return Wanted(
        Grid(
            **{name: lists[0] for name, lists in sizes.items() if lists},
            compared=tuple(values["compared"]),
            repeat=values["repeat"],
        ),
        values["batch"],
        values["batch_argument"],
        values["seed_argument"],
    )
