"""What a job will be, before anything is rendered: its numbers and the lines that are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from launchers.core.model.jobs import Placeholder
from launchers.core.model.problems import Problem
from launchers.core.spec.job import JobSpec


@dataclass(frozen=True)
class Row:
    """One line of the plan as it is shown: what, its value, and where the value came from."""

    label: str
    text: str
    origin: str = ""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A job with every default decided. Providers subclass it with what their template needs.

    ``world_size`` is computed here and nowhere else.
    """

    job: JobSpec
    name: str
    instances: int
    processes: int
    gpus: int
    environment: Mapping[str, str] = field(default_factory=dict)
    rows: tuple[Row, ...] = ()
    placeholders: tuple[Placeholder, ...] = ()
    problems: tuple[Problem, ...] = ()
    features: frozenset[str] = frozenset()

    @property
    def world_size(self) -> int:
        """Ranks in the whole job: instances x processes per instance."""
        return self.instances * self.processes

    @property
    def checkpoint_place(self) -> str:
        """Where the checkpoints lie, for a later run that goes on from them."""
        return self.environment["LAUNCH_CHECKPOINT_DIR"]

    @property
    def destination(self) -> Mapping[str, str]:
        """What the request's address says and its document doesn't (a project, a location)."""
        return {}


def counted(number: int, noun: str) -> str:
    """``1 host``, ``2 hosts``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def layout(instances: int, processes: int) -> str:
    """``2 hosts x 4 ranks = world size 8``, the way it is said everywhere."""
    hosts, ranks = counted(instances, "host"), counted(processes, "rank")
    return f"{hosts} x {ranks} = world size {instances * processes}"
