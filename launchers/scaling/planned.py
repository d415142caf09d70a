"""What a study is to be, before anything has started: what was asked for and the runs that follow
from it, and how people read that."""

from __future__ import annotations

from dataclasses import dataclass

from launchers.core import pipeline
from launchers.core.model.problems import Problem
from launchers.core.planning.plan import Plan, counted
from launchers.core.source.script import JobSource
from launchers.scaling.arguments import BATCH, RANK, TOTAL
from launchers.scaling.grid import Grid
from launchers.scaling.results import Size


@dataclass(frozen=True)
class Wanted:
    """What a study is, besides the job.

    Attributes:
        batch: ``total`` or ``rank``.
        batch_argument: The script's argument that has the batch.
        seed_argument: The one that takes the seed, ``none`` for no seed, None to read the source.
    """

    grid: Grid
    batch: str = RANK
    batch_argument: str = BATCH
    seed_argument: str | None = None


@dataclass(frozen=True)
class Planned:
    """One run that is to be.

    Attributes:
        prepared: Its job, as it would start now; for later repeats of a job without seeds it is
            the first one's.
    """

    size: Size
    repeat: int
    prepared: pipeline.Prepared

    @property
    def plan(self) -> Plan:
        """Its job's."""
        return self.prepared.plan


@dataclass(frozen=True)
class StudyPlan:
    """All runs of a study, in the order in which they start.

    Attributes:
        name: What the study is called: the job's name and a digest of all that was asked for.
        settings: What was asked for, by flag; another study differs in one of them.
        seed: The script's argument that takes the seed, or an empty string; and why.
        problems: Warnings of the jobs' plans, each once.
    """

    name: str
    settings: dict[str, str]
    wanted: Wanted
    source: JobSource
    runs: tuple[Planned, ...]
    seed: tuple[str, str]
    problems: tuple[Problem, ...] = ()


def variant_text(size: Size) -> str:
    """``lr-scaling linear, sync average:4``; empty where nothing is compared."""
    return ", ".join(f"{name} {value}" for name, value in size.variant)


def batch_text(wanted: Wanted) -> str:
    """The batch, for people."""
    if wanted.batch == TOTAL:
        return f"one total batch: each rank gets --{wanted.batch_argument} / world size"
    return "each rank's as the script's arguments say, so that the total grows with the world"


def seed_text(plan: StudyPlan) -> str:
    """The seeds, for people."""
    name, why = plan.seed
    repeat = plan.wanted.grid.repeat
    if not name:
        return f"none given ({why})"
    numbers = "1" if repeat == 1 else f"1 to {repeat}"
    return f"--{name} {numbers}, one a repeat ({why})"


def counted_runs(plan: StudyPlan) -> str:
    """``12 runs: 4 sizes x 3``."""
    points = len(plan.runs) // plan.wanted.grid.repeat
    return f"{counted(len(plan.runs), 'run')}: {points} x {plan.wanted.grid.repeat}"
