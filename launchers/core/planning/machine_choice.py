"""Which machine a job gets, by name, by GPU count, or both where they agree: what every cloud's
choice has, and what is said where there is none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem
from launchers.core.planning.plan import counted
from launchers.core.spec.job import JobSpec

Row = TypeVar("Row")


@dataclass(frozen=True)
class MachineChoice(Generic[Row]):
    """The machine, or problems that say why there is none.

    Attributes:
        name: The machine type; what the user wrote where no table knows it.
        gpus: GPUs of one machine.
        origin: Where the choice came from, for the plan.
        found: Its row of the provider's table, or None.
    """

    name: str
    gpus: int
    origin: str
    found: Row | None = None
    problems: tuple[Problem, ...] = ()


def default_origin(job: JobSpec, reason: str) -> str:
    """What the plan says of a machine that nobody named, for the GPUs that somebody asked for."""
    by = ", ".join(filter(None, (job.origin("gpus", ""), "default for ")))
    return f"{by}{counted(job.gpus or 0, 'GPU')}: {reason}"


def nothing_asked() -> Problem:
    """Neither ``--gpus`` nor ``--machine``."""
    return RULES["gpus-missing"].at("--gpus", "neither --gpus nor --machine")


def no_default(gpus: int, have: Iterable[str], counts: Iterable[int]) -> Problem:
    """A count of GPUs that means no machine by itself.

    Args:
        have: The machines with that many.
        counts: The counts that a machine has.
    """
    named = ", ".join(have)
    expected = "a count that a machine has: " + ", ".join(map(str, sorted(counts)))
    return RULES["machine-gpus"].at(
        "--gpus", str(gpus), f"--machine, one of {named}" if named else expected
    )


def unknown_machine(name: str, what: str, hint: str) -> Problem:
    """A name that the provider's table lacks.

    Args:
        what: What the provider calls its machine types, and the line that lists them.
    """
    return RULES["machine-unknown"].at("--machine", name, what, hint)


def counts_disagree(name: str, gpus: int, asked: int, have: Iterable[str]) -> Problem:
    """A machine with another count of GPUs than ``--gpus`` says.

    Args:
        have: The machines with as many as were asked for.
    """
    return RULES["machine-gpus"].at(
        "--machine",
        f"{name} has {counted(gpus, 'GPU')}, --gpus says {asked}",
        "the two to agree",
        f"machines with {counted(asked, 'GPU')}: {', '.join(have) or 'none'}",
    )


def rank_problems(processes: int, gpus: int, otherwise: str = "") -> list[Problem]:
    """More ranks on a host than it has GPUs; a host without GPUs takes any number.

    Args:
        otherwise: What may be done instead of fewer ranks.
    """
    if not gpus or processes <= gpus:
        return []
    return [
        RULES["ranks-above-gpus"].at(
            "--processes",
            f"{processes} ranks on {counted(gpus, 'GPU')}",
            "at most one rank a GPU",
            f"--processes {gpus}{otherwise}",
        )
    ]
