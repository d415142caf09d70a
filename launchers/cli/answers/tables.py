"""Machines, rules, files that were written, the version."""

from __future__ import annotations

from typing import Annotated, TypedDict


class _Machine(TypedDict, total=False):
    efa: Annotated[bool, "SageMaker's: whether hosts speak over EFA."]
    local_nvme_gb: Annotated[int, "SageMaker's: the local disk, 0 where there is none."]
    regions: Annotated[int, "SageMaker's: in how many regions it is offered."]
    accelerator: Annotated[str, "Vertex AI's: what `--accelerator` may say beside it."]
    needs: Annotated[str, "Vertex AI's: what it is only given with, such as Spot."]


class MachineRow(_Machine):
    """A machine type."""

    machine: str
    gpus: int
    gpu: Annotated[str, "The model; empty where it has none."]
    gpu_memory_gib: Annotated[int | float, "Of one GPU."]
    vcpus: int
    memory_gib: int | float
    default: Annotated[bool, "Whether it is taken for so many GPUs."]


class RuleAnswer(TypedDict):
    """A rule of the catalogue."""

    id: str
    title: Annotated[str, "What must hold."]
    why: Annotated[str, "What it protects from."]
    expected: str
    fix: str
    source: Annotated[str, "The page or field that it comes from; empty for a rule of ours."]
    severity: str


class InitAnswer(TypedDict):
    """Files that were written."""

    written: list[str]
    next: Annotated[str, "The command to go on with."]


class VersionAnswer(TypedDict):
    """The launcher itself."""

    version: str


MachinesAnswer = list[MachineRow]
RulesAnswer = RuleAnswer | list[RuleAnswer]
