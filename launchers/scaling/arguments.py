"""The script's own arguments in a study: what is compared, the seed, each rank's batch."""

from __future__ import annotations

import re
from collections.abc import Sequence

from launchers.core.model.problems import Problem
from launchers.core.planning.script_arguments import value_of
from launchers.core.source.script import JobSource
from launchers.scaling.catalogue import RULES

NO_ARGUMENT = "none"
SEED, BATCH = "seed", "batch-size"
BATCHES = TOTAL, RANK = "total", "rank"
# No batch has more digits; int() itself refuses thousands of them.
_BATCH_SIZE = re.compile(r"0*[1-9][0-9]{0,11}")


def flag_of(name: str) -> str:
    """As it is written: one hyphen before a single letter."""
    return f"-{name}" if len(name) == 1 else f"--{name}"


def has(arguments: Sequence[str], name: str) -> bool:
    """Whether ``--NAME`` stands there, with a value or without."""
    flags = (f"--{name}", flag_of(name))
    return any(word.partition("=")[0] in flags for word in arguments)


def with_value(arguments: Sequence[str], name: str, value: str) -> tuple[str, ...]:
    """The arguments in which ``--NAME`` has that value where it stood, else at the end."""
    flag, found, done = f"--{name}", list(arguments), False
    for index, word in enumerate(arguments):
        if word == flag and index + 1 < len(arguments):
            found[index + 1], done = value, True
        elif word.startswith(f"{flag}="):
            found[index], done = f"{flag}={value}", True
    return tuple(found if done else [*found, flag, value])


def compared(arguments: Sequence[str], name: str, value: str) -> tuple[str, ...]:
    """The arguments with ``--NAME VALUE``; ``true`` is the bare flag and ``false`` leaves it out,
    as in launch.yaml."""
    if value == "false":
        return tuple(arguments)
    return (*arguments, flag_of(name), *([] if value == "true" else [value]))


def seed_argument(given: str | None, source: JobSource) -> tuple[str, str]:
    """The name of the argument that takes the seed, or an empty string, and why.

    Args:
        given: ``--seed-argument``.
    """
    if given == NO_ARGUMENT:
        return "", "--seed-argument"
    if given:
        return given, "--seed-argument"
    texts = source.bundle.texts
    flag = f"--{SEED}".encode()
    if any(flag in texts.read(path) for path in sorted(texts.paths) if path.endswith(".py")):
        return SEED, "the source has --seed"
    return "", "the source has no --seed"


def batch_problems(
    arguments: Sequence[str], name: str, world_sizes: Sequence[int]
) -> list[Problem]:
    """What keeps one total batch from being divided among the ranks of every size."""
    text = value_of(arguments, name)
    if text is None:
        return [
            RULES["scaling-batch"].at(
                "--batch total",
                f"no --{name} behind `--`",
                f"the total batch, as --{name} NUMBER among the script's arguments",
                "write it there, or name the script's own with --batch-argument NAME",
            )
        ]
    if not _BATCH_SIZE.fullmatch(text):
        found = f"--{name} {text[:40]}"
        return [RULES["scaling-batch"].at("--batch total", found, "a whole number from 1", "")]
    wrong = [str(size) for size in sorted(set(world_sizes)) if int(text) % size]
    if not wrong:
        return []
    return [
        RULES["scaling-batch-divides"].at(
            "--batch total",
            f"--{name} {text} for a world size of {', '.join(wrong)}",
            "a total batch that every world size divides",
        )
    ]


def rank_batch(arguments: Sequence[str], name: str, world_size: int) -> tuple[str, ...]:
    """The arguments with each rank's share of the total batch, which the world size divides."""
    total = int(value_of(arguments, name) or 0)
    return with_value(arguments, name, str(total // world_size))
