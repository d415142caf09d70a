"""Machines, accelerators and disks that do not go together.

Source: Vertex AI's page on compute resources for training (machines.json) and the API's
MachineSpec and DiskSpec.
"""

from __future__ import annotations

from launchers.core.model.document import at
from launchers.core.model.problems import Problem, Severity, did_you_mean
from launchers.core.planning.plan import counted
from launchers.vertex.catalogue import RULES
from launchers.vertex.document import BOOT_DISK_GB, BOOT_DISK_TYPES
from launchers.vertex.rules.pools import Pool, integer, pools, rank_pools
from launchers.vertex.rules.starts import HOROVODS, start_of, world
from launchers.vertex.tables import machines


def check_machines(document: object, ours: bool) -> list[Problem]:
    """Rules over machine, accelerator, count and disk of each pool, and between the pools."""
    problems = []
    for pool in pools(document):
        problems += _machine(pool, ours) + _accelerator(pool, ours) + _disk(pool)
    if ours:
        return problems + _same(document, "error")
    # Replicas that are not known to be one world may have other work to do.
    return problems + (_same(document, "warning") if world(document).spans else [])


def _machine(pool: Pool, ours: bool) -> list[Problem]:
    path = f"{pool.path}.machineSpec.machineType"
    if not pool.machine_type:
        if pool.spec.get("machineSpec") and at(pool.spec, "machineSpec", "machineType") is not None:
            return []  # Of the wrong type: the model's own check says so.
        return [RULES["machine-missing"].at(path, "missing", fix=_LIST)]
    if machines.machine(pool.machine_type):
        return []
    if pool.machine_type.startswith(("cloud-tpu", "ct")):
        if not _needs_gpus(pool, ours):
            return []
        return [RULES["no-tpu"].at(path, pool.machine_type, "a machine with GPUs or CPUs", _NO_TPU)]
    return [
        RULES["machine-unknown"].at(
            path,
            pool.machine_type[:60],
            "a machine type of the table",
            machines.suggestion(pool.machine_type) or f"{_LIST} lists them",
            severity="error" if ours else "warning",
        )
    ]


def _needs_gpus(pool: Pool, ours: bool) -> bool:
    """Whether a TPU is of no use there: in a job of Horovod's ranks."""
    return ours or start_of(pool).launcher in HOROVODS


_LIST = "`launch machines --provider vertex`"
_NO_TPU = "Horovod cannot use a TPU"


def _accelerator(pool: Pool, ours: bool) -> list[Problem]:
    path = f"{pool.path}.machineSpec"
    kind, count = pool.accelerator, pool.accelerator_count
    given = at(pool.spec, "machineSpec", "acceleratorCount") is not None
    machine = machines.machine(pool.machine_type)
    if not kind:
        return _without_type(path, count, machine, ours)
    known = machines.accelerators().get(kind)
    if known is None:
        return []  # The model's own check says so.
    type_path = f"{path}.acceleratorType"
    if not known.is_gpu and not _needs_gpus(pool, ours):
        return []
    if not known.is_gpu:
        return [RULES["no-tpu"].at(type_path, kind, "a GPU", _NO_TPU)]
    if known.ended:
        found = f"{kind}, which the service retired on {known.ended}"
        fix = f"use {known.instead}"
        return [RULES["accelerator-ended"].at(type_path, found, fix=fix)]
    if given and count is None:
        return []
    if count is None or count < 1:
        found = "missing" if count is None else str(count)
        expected = f"how many {kind}, at least 1"
        fix = "the Python client sends this without a word as a job on CPUs"
        return [RULES["accelerator-count"].at(f"{path}.acceleratorCount", found, expected, fix)]
    if machine is None or machine.takes(kind, count):
        return []
    return [_pair(path, machine, kind, count)]


def _without_type(
    path: str, count: int | None, machine: machines.Machine | None, ours: bool
) -> list[Problem]:
    if count:
        fix = "or no acceleratorCount"
        if machine and machine.accelerator:
            fix = f"for {machine.name} it is {machine.accelerator}"
        expected = f"the type of the {counted(count, 'accelerator')}"
        where = f"{path}.acceleratorType"
        return [RULES["accelerator-type"].at(where, "missing", expected, fix)]
    if machine is None or not machine.accelerator:
        return []
    severity: Severity = "error" if ours else "warning"
    expected = f"{machine.accelerator}, with acceleratorCount {machine.gpus}"
    where = f"{path}.acceleratorType"
    fix = f"{machine.name} has these, and the service wants them named"
    return [RULES["accelerator-type"].at(where, "missing", expected, fix, severity=severity)]


def _pair(path: str, machine: machines.Machine, kind: str, count: int) -> Problem:
    found = f"{count} x {kind} with {machine.name}"
    if machine.accelerator:
        expected = f"{machine.gpus} x {machine.accelerator}, which are part of it"
    elif machine.attached:
        expected = f"one of {machine.attached_text}"
    else:
        expected = "no accelerator: it takes none"
    others = [entry.name for entry in machines.taking(kind, count)]
    fix = f"{count} x {kind}: {', '.join(others[:4])}" if others else ""
    return RULES["accelerator-pair"].at(f"{path}.acceleratorCount", found, expected, fix)


def _disk(pool: Pool) -> list[Problem]:
    path = f"{pool.path}.diskSpec"
    kind = at(pool.spec, "diskSpec", "bootDiskType")
    size = integer(at(pool.spec, "diskSpec", "bootDiskSizeGb"))
    problems = []
    if isinstance(kind, str) and kind and kind not in BOOT_DISK_TYPES:
        expected = f"one of {', '.join(BOOT_DISK_TYPES)}"
        fix = did_you_mean(kind, BOOT_DISK_TYPES)
        problems.append(RULES["disk-type"].at(f"{path}.bootDiskType", kind[:40], expected, fix))
    machine = machines.machine(pool.machine_type)
    if (
        machine
        and isinstance(kind, str)
        and kind.startswith("pd-")
        and "pd-" not in machine.boot_disk
    ):
        found, fix = f"{kind} with {machine.name}", "or no type, which means the same"
        where = f"{path}.bootDiskType"
        problems.append(RULES["disk-machine"].at(where, found, machine.boot_disk, fix))
    least, most = BOOT_DISK_GB
    # 0 is what a field that is left out holds: the service's own default.
    if size and not least <= size <= most:
        where = f"{path}.bootDiskSizeGb"
        problems.append(RULES["disk-size"].at(where, f"{size} GB", f"{least} to {most:,} GB"))
    return problems


def _same(document: object, severity: Severity) -> list[Problem]:
    """Ranks on unlike machines wait for each other at every step."""
    found = [pool for pool in rank_pools(document) if _is_counted(pool)]
    if not found:
        return []
    first = found[0]
    problems = []
    for pool in found[1:]:
        if _shape(pool) != _shape(first):
            problems.append(
                RULES["pools-unlike"].at(
                    f"{pool.path}.machineSpec",
                    _shape(pool),
                    f"{_shape(first)}, as in the first pool",
                    "ranks on unlike machines wait for each other at every step",
                    severity=severity,
                )
            )
    return problems


def _is_counted(pool: Pool) -> bool:
    """Whether it has a count of accelerators; what is none is told of that pool itself."""
    return not pool.accelerator or (pool.accelerator_count or 0) > 0


def _shape(pool: Pool) -> str:
    text = pool.machine_type[:60] or "no machine type"
    if pool.accelerator:
        text += f" with {pool.accelerator_count} x {pool.accelerator}"
    return f"{text} in parts of {pool.partition[:20]}" if pool.partition else text
