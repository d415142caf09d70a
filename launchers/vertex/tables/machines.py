"""Vertex AI's training machines and accelerators: what is in each, and what a GPU count means.

The table is machines.json; `python -m infra.refresh.vertex_machines` makes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from launchers.core.model.problems import did_you_mean

_FILE = Path(__file__).with_name("machines.json")
# n1-standard-16 with 4 GPUs, as in Vertex AI's own examples of distributed training.
_VCPUS_A_GPU = 4


@dataclass(frozen=True, kw_only=True)
class Accelerator:
    """One value of the API's AcceleratorType.

    Attributes:
        name: As the API has it, ``NVIDIA_TESLA_T4``.
        gpu_model: ``T4``; empty for a TPU.
        memory_gib: Memory of one, in GiB; 0 for a TPU.
        is_gpu: Whether Horovod can use it; a TPU it cannot.
        ended: The day since which the service has none, ``2026-09-15``; empty while it has.
        instead: The accelerator to take then.
        flex_start: Whether the strategy FLEX_START may ask for it.
        partitions: The sizes of MIG instances that it can be cut into, ``1g.10gb``, each with how
            many of them one GPU gives; empty where it cannot be cut.
    """

    name: str
    gpu_model: str
    memory_gib: float
    is_gpu: bool
    ended: str
    instead: str
    flex_start: bool
    partitions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One machine type.

    Attributes:
        name: As the service knows it, ``g2-standard-48``.
        gpus: GPUs that are part of it; 0 for a CPU machine and for one that takes them beside it.
        accelerator: The type of its GPUs, ``NVIDIA_L4``; empty without.
        attached: Accelerators that may stand beside it, each with the counts that may.
        vcpus: Virtual CPUs.
        memory_gib: Main memory in GiB.
        only: The scheduling strategies that alone give it (SPOT, FLEX_START); empty for all.
        reservation: Whether it is to be had in a reservation alone.
        cpu_architecture: ``x86_64`` or ``arm64``.
        boot_disk: The service's default type of boot disk.
    """

    name: str
    gpus: int
    accelerator: str
    attached: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    vcpus: int
    memory_gib: float
    only: tuple[str, ...]
    reservation: bool
    cpu_architecture: str
    boot_disk: str

    def takes(self, accelerator: str, count: int) -> bool:
        """Whether so many of ``accelerator`` may be asked for with it."""
        if self.accelerator:
            return (accelerator, count) == (self.accelerator, self.gpus)
        return count in self.attached.get(accelerator, ())

    @property
    def attached_text(self) -> str:
        """``NVIDIA_TESLA_T4:1,2,4 NVIDIA_TESLA_V100:2,4,8``; empty where none may."""
        return " ".join(
            f"{name}:{','.join(map(str, counts))}" for name, counts in self.attached.items()
        )


@lru_cache(maxsize=1)
def load() -> Mapping[str, Machine]:
    """Every machine type by its name, those without GPUs first."""
    return {name: _machine(name, row) for name, row in _table()["machines"].items()}


@lru_cache(maxsize=1)
def accelerators() -> Mapping[str, Accelerator]:
    """Every accelerator of the API by its name."""
    return {
        name: Accelerator(
            name=name,
            gpu_model=row.get("gpu", ""),
            memory_gib=row.get("memory_gib", 0),
            is_gpu=not row.get("tpu", False),
            ended=row.get("ended", ""),
            instead=row.get("instead", ""),
            flex_start=row.get("flex_start", False),
            partitions=row.get("partitions", {}),
        )
        for name, row in _table()["accelerators"].items()
    }


def machine(name: str) -> Machine | None:
    """The machine type ``name``, or None for one that no table knows."""
    return load().get(name)


def suggestion(name: str) -> str:
    """``did you mean g2-standard-48?`` for a name that the table lacks, or nothing."""
    return did_you_mean(name, load())


def accelerator_suggestion(name: str) -> str:
    """``did you mean NVIDIA_TESLA_T4?`` for ``T4``, ``nvidia-tesla-t4`` or a near miss."""
    near = nearest_accelerator(name)
    return f"did you mean {near}?" if near else ""


def nearest_accelerator(name: str) -> str:
    """``NVIDIA_TESLA_T4`` for ``T4``, ``nvidia-tesla-t4`` or a near miss; empty for none."""
    bare = _bare(name)
    near = [known for known in accelerators() if bare and _bare(known).startswith(bare)]
    # T4 before what only begins like it.
    near.sort(key=lambda known: _bare(known) != bare)
    hint = near[0] if near else did_you_mean(name, accelerators())
    return hint.removeprefix("did you mean ").removesuffix("?")


def with_gpus(count: int) -> list[Machine]:
    """The machines of which exactly ``count`` GPUs are a part; for 0 those without any.

    The default for that count comes first, then from the smaller GPUs and machines to the larger.
    """
    default = default_for(count)
    found = [entry for entry in load().values() if entry.gpus == count]
    return sorted(found, key=lambda entry: (entry != default, _size(entry)))


def taking(accelerator: str, count: int) -> list[Machine]:
    """The machines that have ``count`` of ``accelerator``, or take so many beside them."""
    found = [entry for entry in load().values() if entry.takes(accelerator, count)]
    return sorted(found, key=_size)


def default_having(accelerator: str, count: int) -> Machine | None:
    """The machine for ``count`` of ``accelerator`` where none is named, or None where none has so
    many.

    Of a machine's own GPUs it is the default for that count, else the smallest that needs neither
    spare capacity nor a reservation; beside a machine, the smallest n1-standard that leaves each
    GPU as many vCPUs as n1-standard-16 leaves each of four.
    """
    found = taking(accelerator, count)
    if found and found[0].attached:
        roomy = [entry for entry in found if entry.vcpus >= _VCPUS_A_GPU * count]
        usual = [entry for entry in roomy or found if entry.name.startswith("n1-standard")]
        return (usual or found)[0]
    found.sort(key=lambda entry: (entry != default_for(count), bool(entry.only), entry.reservation))
    return found[0] if found else None


def counts_of(accelerator: str) -> set[int]:
    """The counts in which ``accelerator`` is to be had, over all machines."""
    found = {entry.gpus for entry in load().values() if entry.accelerator == accelerator}
    return found.union(*(entry.attached.get(accelerator, ()) for entry in load().values()))


def attachable_with(count: int) -> list[tuple[Machine, str]]:
    """Machines that take exactly ``count`` accelerators beside them, each with the type."""
    pairs = [
        (entry, name)
        for entry in load().values()
        for name, counts in entry.attached.items()
        if count in counts
    ]
    return sorted(
        pairs, key=lambda pair: (accelerators()[pair[1]].memory_gib, pair[1], _size(pair[0]))
    )


def default_for(gpus: int) -> Machine | None:
    """The machine that a GPU count means where none is named, or None where there is no default."""
    default = _table()["defaults"].get(str(gpus))
    return load()[default["machine"]] if default else None


def default_reason(gpus: int) -> str:
    """Why :func:`default_for` gives this machine, for the plan; empty where it gives none."""
    default = _table()["defaults"].get(str(gpus))
    return str(default["reason"]) if default else ""


def gpu_counts() -> list[int]:
    """Every count of GPUs that a machine has or takes, 0 among them."""
    counts = {entry.gpus for entry in load().values()}
    return sorted(
        counts.union(*(found for entry in load().values() for found in entry.attached.values()))
    )


def reduction_server() -> tuple[str, str]:
    """Machine type and image of a reduction server, where the job names none."""
    row = _table()["reduction_server"]
    return row["machine"], row["image"]


def table_rows(gpus: int | None = None) -> list[dict[str, str | int | float | bool]]:
    """The rows of ``launch machines``, for its table and its ``--json``.

    ``accelerator`` is what ``--accelerator`` may say beside the machine, empty where its GPUs are
    part of it.

    Args:
        gpus: Only machines with exactly so many GPUs; None for all, those without GPUs last.
    """
    if gpus is None:
        counts = sorted({entry.gpus for entry in load().values()} - {0})
        chosen = [entry for count in [*counts, 0] for entry in with_gpus(count)]
        return [_row(entry, entry.accelerator, entry.gpus, entry.attached_text) for entry in chosen]
    rows = [_row(entry, entry.accelerator, gpus, "") for entry in with_gpus(gpus)]
    return rows + [
        _row(entry, name, gpus, f"{name}:{gpus}") for entry, name in attachable_with(gpus)
    ]


def _row(
    entry: Machine, accelerator: str, gpus: int, beside: str
) -> dict[str, str | int | float | bool]:
    gpu = accelerators().get(accelerator)
    needs = ["a reservation"] if entry.reservation else []
    needs += [" or ".join(entry.only)] if entry.only else []
    return {
        "machine": entry.name,
        "gpus": gpus,
        "gpu": gpu.gpu_model if gpu else "",
        "gpu_memory_gib": gpu.memory_gib if gpu else 0,
        "vcpus": entry.vcpus,
        "memory_gib": entry.memory_gib,
        "accelerator": beside,
        "needs": ", ".join(needs),
        "default": not (beside and gpus) and entry == default_for(gpus),
    }


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Any]:
    table: dict[str, Any] = json.loads(_FILE.read_bytes())
    return table


def _machine(name: str, row: Mapping[str, Any]) -> Machine:
    """A row of the file, which leaves out what is zero, false or empty."""
    return Machine(
        name=name,
        gpus=row.get("gpus", 0),
        accelerator=row.get("accelerator", ""),
        attached={key: tuple(counts) for key, counts in row.get("attached", {}).items()},
        vcpus=row["vcpus"],
        memory_gib=row["memory_gib"],
        only=tuple(row.get("only", ())),
        reservation=row.get("reservation", False),
        cpu_architecture=row.get("cpu", "x86_64"),
        boot_disk=row.get("boot_disk", "pd-ssd"),
    )


def _size(entry: Machine) -> tuple[float, int, float, str]:
    memory = accelerators()[entry.accelerator].memory_gib if entry.accelerator else 0
    return (memory, entry.vcpus, entry.memory_gib, entry.name)


def _bare(name: str) -> str:
    """``t4`` of NVIDIA_TESLA_T4, nvidia-tesla-t4, T4."""
    folded = re.sub(r"[^a-z0-9]+", "", name.lower())
    return re.sub(r"^(nvidia)?(tesla)?", "", folded)
