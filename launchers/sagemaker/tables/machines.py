"""SageMaker's training instance types: what is in each, and which one a GPU count means.

The table is machines.json; `python -m infra.refresh.sagemaker_machines` makes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from launchers.core.model.problems import did_you_mean

_FILE = Path(__file__).with_name("machines.json")


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One instance type.

    Attributes:
        name: As the service knows it, ``ml.g5.12xlarge``.
        gpus: NVIDIA GPUs, 0 for a CPU machine and for one with other accelerators.
        gpu_model: ``A10G``; empty without GPUs.
        gpu_memory_gib: Memory of one GPU in GiB.
        gpu_generation: ``Ampere``; empty without GPUs.
        compute_capability: ``8.6``; empty without GPUs.
        cuda_minimum: The first CUDA release that has code for this GPU, ``11.0``.
        cuda_maximum: The last one; empty where it is not known to have an end.
        accelerator: What else computes there, ``Trainium``; Horovod cannot use it.
        vcpus: Virtual CPUs.
        memory_gib: Main memory in GiB.
        efa: Whether it has an Elastic Fabric Adapter.
        efa_by_toolkit: Whether every container toolkit since 4.4 sets EFA up by itself there.
        local_nvme_gb: Local NVMe disks in GB, 0 for a machine that has only its volume.
        cpu_architecture: ``x86_64`` or ``arm64``.
        regions: How many EC2 regions offer the type; 0 for one that is no longer offered, or only
            in reserved capacity.
    """

    name: str
    gpus: int
    gpu_model: str
    gpu_memory_gib: float
    gpu_generation: str
    compute_capability: str
    cuda_minimum: str
    cuda_maximum: str
    accelerator: str
    vcpus: int
    memory_gib: float
    efa: bool
    efa_by_toolkit: bool
    local_nvme_gb: int
    cpu_architecture: str
    regions: int

    @property
    def needs_efa_option(self) -> bool:
        """Whether mpirun must be told ``-x FI_PROVIDER=efa`` for the ranks to use EFA.

        Where a newer toolkit sets it as well, mpirun gets it twice with one value, which it takes.
        """
        return self.efa and not self.efa_by_toolkit

    @property
    def local_nvme(self) -> bool:
        """Whether it has disks of its own, which the machine encrypts by itself.

        ``VolumeKmsKeyId`` may not be given for such a type (the API's ResourceConfig).
        """
        return self.local_nvme_gb > 0

    @property
    def gpu_text(self) -> str:
        """``4 x A10G 22 GiB``, or ``no GPU``, or the other accelerator."""
        if self.gpus:
            return f"{self.gpus} x {self.gpu_model} {self.gpu_memory_gib:.0f} GiB"
        return f"no GPU ({self.accelerator})" if self.accelerator else "no GPU"


@lru_cache(maxsize=1)
def load() -> Mapping[str, Machine]:
    """Every instance type by its name, in the order of the service's enumeration."""
    table = _table()
    by_itself = set.intersection(*(set(names) for names in table["efa_by_toolkit"].values()))
    return {
        name: _machine(name, row, table["gpus"].get(row.get("gpu"), {}), name in by_itself)
        for name, row in table["machines"].items()
    }


def machine(name: str) -> Machine | None:
    """The instance type ``name``, or None for one that the service does not have."""
    return load().get(name)


def suggestion(name: str) -> str:
    """``did you mean ml.g5.12xlarge?`` for a name that the service does not have, or nothing."""
    return did_you_mean(f"ml.{name.lower().removeprefix('ml.')}", load())


def with_gpus(count: int) -> list[Machine]:
    """The machines with exactly ``count`` GPUs; for 0 those that compute on CPUs alone.

    The default for that count comes first, then what EC2 offers, from the older and smaller to the
    newer and larger, and last what it offers in no region.
    """
    default = default_for(count)
    found = [entry for entry in load().values() if entry.gpus == count and not entry.accelerator]
    return sorted(found, key=lambda entry: (entry != default, not entry.regions, _size(entry)))


def default_for(gpus: int) -> Machine | None:
    """The machine that a GPU count means where none is named, or None where there is no default."""
    default = _table()["defaults"].get(str(gpus))
    return load()[default["machine"]] if default else None


def default_reason(gpus: int) -> str:
    """Why :func:`default_for` gives this machine, for the plan; empty where it gives none."""
    default = _table()["defaults"].get(str(gpus))
    return str(default["reason"]) if default else ""


def table_rows(gpus: int | None = None) -> list[dict[str, str | int | float | bool]]:
    """The rows of ``launch machines``, for its table and its ``--json``.

    Args:
        gpus: Only machines with exactly so many GPUs; None for all, those without GPUs last.
    """
    if gpus is not None:
        chosen = with_gpus(gpus)
    else:
        counts = sorted({entry.gpus for entry in load().values()} - {0})
        chosen = [entry for count in [*counts, 0] for entry in with_gpus(count)]
        chosen += [entry for entry in load().values() if entry.accelerator]
    return [
        {
            "machine": entry.name,
            "gpus": entry.gpus,
            "gpu": entry.gpu_model or entry.accelerator,
            "gpu_memory_gib": entry.gpu_memory_gib,
            "vcpus": entry.vcpus,
            "memory_gib": entry.memory_gib,
            "efa": entry.efa,
            "local_nvme_gb": entry.local_nvme_gb,
            "regions": entry.regions,
            "default": entry == default_for(entry.gpus),
        }
        for entry in chosen
    ]


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Any]:
    table: dict[str, Any] = json.loads(_FILE.read_bytes())
    return table


def _machine(
    name: str, row: Mapping[str, Any], gpu: Mapping[str, str], efa_by_toolkit: bool
) -> Machine:
    """A row of the file, which leaves out what is zero, false or empty."""
    return Machine(
        name=name,
        gpus=row.get("gpus", 0),
        gpu_model=row.get("gpu", ""),
        gpu_memory_gib=row.get("gpu_memory_gib", 0),
        gpu_generation=gpu.get("generation", ""),
        compute_capability=gpu.get("compute_capability", ""),
        cuda_minimum=gpu.get("cuda_minimum", ""),
        cuda_maximum=gpu.get("cuda_maximum", ""),
        accelerator=row.get("accelerator", ""),
        vcpus=row["vcpus"],
        memory_gib=row["memory_gib"],
        efa=row.get("efa", False),
        efa_by_toolkit=efa_by_toolkit,
        local_nvme_gb=row.get("local_nvme_gb", 0),
        cpu_architecture=row.get("cpu", "x86_64"),
        regions=row["regions"],
    )


def _size(entry: Machine) -> tuple[float, float, int, float, str]:
    capability = float(entry.compute_capability or 0)
    return (capability, entry.gpu_memory_gib, entry.vcpus, entry.memory_gib, entry.name)
