"""Which machine a job gets: by name, by GPU count, or both where they agree."""

from __future__ import annotations

from dataclasses import dataclass

from launchers.core.model.problems import Problem
from launchers.core.planning import machine_choice as core
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.options import SageMakerJob
from launchers.sagemaker.tables import machines


@dataclass(frozen=True)
class MachineChoice(core.MachineChoice[machines.Machine]):
    """The machine, and what the ranks' start must know of it."""

    @property
    def has_efa(self) -> bool:
        """Whether an Elastic Fabric Adapter connects it with the others."""
        return self.found is not None and self.found.efa

    @property
    def mpi_options(self) -> tuple[str, ...]:
        """EFA settings for a machine that has EFA and that the toolkit's own list lacks."""
        needed = self.found is not None and self.found.needs_efa_option
        return ("-x FI_PROVIDER=efa",) if needed else ()


def choose_machine(job: SageMakerJob) -> MachineChoice:
    """``--machine``, checked against ``--gpus``; else the default for that many GPUs."""
    if job.machine is not None:
        return _named(job, job.machine)
    if job.gpus is None:
        return MachineChoice("", 0, "", problems=(core.nothing_asked(),))
    found = machines.default_for(job.gpus)
    if found is None:
        return MachineChoice("", job.gpus, "", problems=(_no_default(job.gpus),))
    origin = core.default_origin(job, machines.default_reason(job.gpus))
    return MachineChoice(found.name, found.gpus, origin, found)


def _no_default(gpus: int) -> Problem:
    have = [machine.name for machine in machines.with_gpus(gpus)]
    return core.no_default(gpus, have, {machine.gpus for machine in machines.load().values()})


def _named(job: SageMakerJob, name: str) -> MachineChoice:
    found = machines.machine(name)
    if found is None:
        hint = machines.suggestion(name)
        what = "a training instance type (see `launch machines`)"
        problem = core.unknown_machine(name, what, hint)
        return MachineChoice(name, job.gpus or 0, "--machine", problems=(problem,))
    if found.accelerator:
        problem = RULES["machine-accelerator"].at(
            "--machine", f"{name} has {found.accelerator} and no GPU"
        )
        return MachineChoice(found.name, found.gpus, "--machine", found, (problem,))
    if job.gpus is None or job.gpus == found.gpus:
        return MachineChoice(found.name, found.gpus, "--machine", found)
    have = [machine.name for machine in machines.with_gpus(job.gpus)]
    problem = core.counts_disagree(name, found.gpus, job.gpus, have)
    return MachineChoice(found.name, found.gpus, "--machine", found, (problem,))
