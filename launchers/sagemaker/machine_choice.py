"""Which machine a job gets: by name, by GPU count, or both where they agree."""

from __future__ import annotations

from dataclasses import dataclass

from launchers.core.job import JobSpec
from launchers.core.plan import counted
from launchers.core.problems import Problem
from launchers.sagemaker import machines


@dataclass(frozen=True)
class MachineChoice:
    """The machine, or problems that say why there is none.

    Attributes:
        name: The instance type; what the user wrote where no table knows it.
        found: Its row of the table, or None.
    """

    name: str
    gpus: int
    origin: str
    found: machines.Machine | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def mpi_options(self) -> tuple[str, ...]:
        """EFA settings for a machine that has EFA and that the toolkit's own list lacks."""
        needed = self.found is not None and self.found.needs_efa_option
        return ("-x FI_PROVIDER=efa",) if needed else ()


def choose_machine(job: JobSpec) -> MachineChoice:
    """``--machine``, checked against ``--gpus``; else the default for that many GPUs."""
    if job.machine is not None:
        return _named(job, job.machine)
    if job.gpus is None:
        return MachineChoice(
            "",
            0,
            "",
            problems=(
                Problem(
                    "--gpus",
                    "neither --gpus nor --machine",
                    "GPUs on each host, or a machine",
                    "--gpus 4, or --gpus 0 --processes N for machines without a GPU",
                    rule="gpus-missing",
                ),
            ),
        )
    found = machines.default_for(job.gpus)
    if found is None:
        return MachineChoice("", job.gpus, "", problems=(_no_default(job.gpus),))
    origin = f"default for {counted(job.gpus, 'GPU')}: {machines.default_reason(job.gpus)}"
    return MachineChoice(found.name, found.gpus, origin, found)


def _no_default(gpus: int) -> Problem:
    have = ", ".join(machine.name for machine in machines.with_gpus(gpus))
    counts = sorted({machine.gpus for machine in machines.load().values()})
    expected = "a count that a machine has: " + ", ".join(str(count) for count in counts)
    return Problem(
        "--gpus", str(gpus), f"--machine, one of {have}" if have else expected, rule="machine-gpus"
    )


def _named(job: JobSpec, name: str) -> MachineChoice:
    found = machines.machine(name)
    if found is None:
        problem = Problem(
            "--machine",
            name,
            "a training instance type (see `launch machines`)",
            machines.suggestion(name),
            rule="machine-unknown",
        )
        return MachineChoice(name, job.gpus or 0, "--machine", problems=(problem,))
    if found.accelerator:
        problem = Problem(
            "--machine",
            f"{name} has {found.accelerator} and no GPU",
            "a machine with NVIDIA GPUs, or one without accelerators",
            "Horovod cannot use it; see `launch machines`",
            rule="machine-accelerator",
        )
        return MachineChoice(found.name, found.gpus, "--machine", found, (problem,))
    if job.gpus is None or job.gpus == found.gpus:
        return MachineChoice(found.name, found.gpus, "--machine", found)
    have = ", ".join(machine.name for machine in machines.with_gpus(job.gpus))
    problem = Problem(
        "--machine",
        f"{name} has {counted(found.gpus, 'GPU')}, --gpus says {job.gpus}",
        "the two to agree",
        f"machines with {counted(job.gpus, 'GPU')}: {have or 'none'}",
        rule="machine-gpus",
    )
    return MachineChoice(found.name, found.gpus, "--machine", found, (problem,))
