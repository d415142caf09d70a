"""The worker pools of a CustomJob that may be wrong anywhere, as the rules read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from launchers.core.model.document import at, entries, mapping, rank_count, whole_number
from launchers.vertex import document as documents
from launchers.vertex.tables import machines

WORLD_SIZE, INSTANCES, PROCESSES = "LAUNCH_WORLD_SIZE", "LAUNCH_INSTANCES", "LAUNCH_PROCESSES"
# Zero values of enumerations say nothing.
_UNSPECIFIED = ("ACCELERATOR_TYPE_UNSPECIFIED", "STRATEGY_UNSPECIFIED", "TYPE_UNSPECIFIED")


@dataclass(frozen=True)
class Pool:
    """One entry of workerPoolSpecs that is used.

    Attributes:
        index: Its place: 0 the primary replica, 1 the workers, 2 parameter or reduction servers,
            3 evaluators.
        path: ``$.jobSpec.workerPoolSpecs[0]``.
        spec: The entry itself.
        replicas: How many replicas; None where the count is no number.
        task: Its containerSpec, else its pythonPackageSpec, else empty.
        task_path: Where that stands.
    """

    index: int
    path: str
    spec: Mapping[str, Any]
    replicas: int | None
    task: Mapping[str, Any]
    task_path: str

    @property
    def holds_ranks(self) -> bool:
        """Whether ranks run in it: the primary replica's pool and the workers' do."""
        return self.index in (documents.CHIEF, documents.WORKERS)

    @property
    def machine_type(self) -> str:
        """The machine type, or an empty text."""
        value = at(self.spec, "machineSpec", "machineType")
        return value if isinstance(value, str) else ""

    @property
    def accelerator(self) -> str:
        """The accelerator's type, or an empty text where none is asked for."""
        return said(at(self.spec, "machineSpec", "acceleratorType"))

    @property
    def accelerator_count(self) -> int | None:
        """How many of them; None where that is not said or no number."""
        return integer(at(self.spec, "machineSpec", "acceleratorCount"))

    @property
    def partition(self) -> str:
        """The size of the MIG instances that the GPUs are cut into, ``1g.10gb``; else empty."""
        value = at(self.spec, "machineSpec", "gpuPartitionSize")
        return value if isinstance(value, str) else ""

    @property
    def whole_gpus(self) -> int:
        """GPUs of each replica, by what is asked for, else by the machine's table."""
        known = machines.machine(self.machine_type)
        if self.accelerator and (self.accelerator_count or 0) > 0:
            return self.accelerator_count or 0
        return known.gpus if known else 0

    @property
    def gpus(self) -> int:
        """How many of them a process sees: all, or one MIG instance (partitions.py)."""
        return min(self.whole_gpus, 1) if self.partition else self.whole_gpus

    @property
    def reservation(self) -> str:
        """The kind of reservation that is asked for, SPECIFIC_RESERVATION; empty for none."""
        affinity = at(self.spec, "machineSpec", "reservationAffinity")
        kind = said(at(affinity, "reservationAffinityType"))
        return "" if kind == "NO_RESERVATION" else kind

    @property
    def environment(self) -> list[tuple[str, str]]:
        """Names and values of the containers' variables, in order, a name perhaps twice."""
        return [
            (item["name"], item.get("value", ""))
            for item in entries(self.task, "env")
            if isinstance(item.get("name"), str) and isinstance(item.get("value", ""), str)
        ]

    @property
    def image(self) -> str:
        """The address of the containers' image, or an empty text."""
        value = self.task.get("imageUri", self.task.get("executorImageUri"))
        return value if isinstance(value, str) else ""

    def words(self, *keys: str) -> list[str]:
        """The texts of the task's ``command`` or ``args``, or of both in order."""
        found: list[str] = []
        for key in keys:
            value = self.task.get(key)
            if isinstance(value, list):
                found += [word for word in value if isinstance(word, str)]
        return found


def pools(document: object) -> list[Pool]:
    """The pools that are used; one that is ``{}`` or no object is left out."""
    specs = at(document, "jobSpec", "workerPoolSpecs")
    if not isinstance(specs, list):
        return []
    return [
        _pool(index, spec) for index, spec in enumerate(specs) if isinstance(spec, Mapping) and spec
    ]


def rank_pools(document: object) -> list[Pool]:
    """The pools in which ranks run."""
    return [pool for pool in pools(document) if pool.holds_ranks]


def first_pool(document: object) -> Pool | None:
    """The first pool in which ranks run: the primary replica's, where there is one."""
    return next(iter(rank_pools(document)), None)


def rank_replicas(document: object) -> int | None:
    """How many replicas run ranks; None where a count is none that a job has."""
    counts = [rank_count(pool.replicas) for pool in rank_pools(document)]
    known = [count for count in counts if count is not None]
    return sum(known) if known and None not in counts else None


def carries_world_size(document: object) -> bool:
    """Whether a pool says itself how many ranks the job has, as ours do."""
    return any(name == WORLD_SIZE for pool in pools(document) for name, _ in pool.environment)


def said(value: object) -> str:
    """The name of an enumeration; empty for none and for the one that says nothing."""
    return value if isinstance(value, str) and value not in _UNSPECIFIED else ""


def integer(value: object) -> int | None:
    """A whole number as the service's JSON has it, ``4``, ``"4"`` or ``-1``."""
    if isinstance(value, str) and value.startswith("-"):
        number = whole_number(value[1:])
        return -number if number is not None else None
    return whole_number(value)


def _pool(index: int, spec: Mapping[str, Any]) -> Pool:
    path = f"$.jobSpec.workerPoolSpecs[{index}]"
    key = "containerSpec" if "containerSpec" in spec else "pythonPackageSpec"
    # Without a count the service takes one replica.
    replicas = integer(spec["replicaCount"]) if "replicaCount" in spec else 1
    return Pool(index, path, spec, replicas, mapping(spec, key), f"{path}.{key}")
