"""Rehearsals of containers that run a shell script, for tests of the cluster alone."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from launchers.core.model.containers import Conduct, Container
from launchers.core.model.jobs import JobDefinition, LogLine
from launchers.core.output.lines import JobWatch
from launchers.core.roles import Contract
from launchers.rehearsal.course.outcome import RehearsalResult
from launchers.rehearsal.engine.labels import ID
from launchers.rehearsal.options import RehearsalOptions
from launchers.rehearsal.run import rehearse

# `make base-image` makes it; small, and it has a shell and the GNU tools.
BASE = "debian:bookworm-slim"
PROOF = "echo 'launch: proof: world size 2: 2 hosts x 1 rank, MPI'"


def box(number: int, script: str, **more: Any) -> Container:
    """Host ``algo-<number>`` that runs a shell script; the first leads, each has one rank."""
    settings: dict[str, Any] = {
        "name": f"algo-{number}",
        "hostname": f"algo-{number}",
        "image": BASE,
        "command": ("bash", "-c", script),
        "environment": {},
        "files": {},
        "folders": ("/opt/ml/model", "/opt/ml/checkpoints"),
        "ranks": (number - 1,),
        "leader": number == 1,
        "collected": {"model": "/opt/ml/model"},
        "kept": ("/opt/ml/checkpoints",),
    }
    return Container(**{**settings, **more})


@dataclass(frozen=True)
class Boxes(Contract):
    """A provider whose contract is given."""

    boxes: Sequence[Container]
    conduct_: Conduct = field(default_factory=Conduct)
    guarded: bool = True

    def containers(
        self,
        definition: JobDefinition,
        ranks_per_host: int | None = None,
        serve_code: bool = True,
    ) -> list[Container]:
        return list(self.boxes)

    def conduct(self, definition: JobDefinition) -> Conduct:
        return self.conduct_

    def is_guarded(self, definition: JobDefinition) -> bool:
        return self.guarded


@dataclass
class Heard:
    """An audience that remembers."""

    lines: list[LogLine] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    deviations: tuple[str, ...] = ()

    def plan(self, prepared: Any, labels: Any) -> None:
        self.deviations = prepared.deviations

    def note(self, text: str) -> None:
        self.notes.append(text)

    def progress(self, label: str, done: int, total: int) -> None:
        """Nothing is pulled."""

    def line(self, line: LogLine, watch: JobWatch) -> None:
        self.lines.append(line)

    def of(self, host: str) -> list[str]:
        """The texts of one host's lines."""
        return [line.text for line in self.lines if line.host == host]


def run(
    *scripts: str | Container,
    heard: Heard | None = None,
    conduct: Conduct | None = None,
    name: str = "boxes",
    **options: Any,
) -> RehearsalResult:
    """Rehearse one host a script."""
    containers = [
        box(number, script) if isinstance(script, str) else script
        for number, script in enumerate(scripts, start=1)
    ]
    definition = JobDefinition("boxes", name, len(containers), "{}\n", {})
    return rehearse(
        Boxes(containers, conduct or Conduct()),
        definition,
        None,
        RehearsalOptions(**options),
        heard or Heard(),
    )


def things_of(client: Any, job: str = "") -> list[str]:
    """Names of everything in the engine that carries a rehearsal's labels (of one job)."""
    label = f"launch.rehearsal.job={job}" if job else ID
    containers = client.api.containers(all=True, filters={"label": label})
    networks = client.api.networks(filters={"label": label})
    return [item["Names"][0].lstrip("/") for item in containers] + [
        item["Name"] for item in networks
    ]


def seconds_since(moment: float) -> float:
    """Seconds since ``moment`` of ``time.monotonic``."""
    return time.monotonic() - moment
