"""How many replicas and ranks an old job asks for, and whether they can be those of one job."""

from __future__ import annotations

from typing import Any

from launchers.core.model.problems import Problem
from launchers.vertex.ai_platform.input import INPUT, Given
from launchers.vertex.ai_platform.machines import Hardware, boot_disk, machine_named, worker
from launchers.vertex.ai_platform.obsolete import dropped
from launchers.vertex.ai_platform.start import Training
from launchers.vertex.catalogue import RULES

_REDUCTION_SERVER = "training/reductionserver"


def workers(given: Given, hardware: Hardware, problems: list[Problem]) -> int:
    """How many workers there are beside the master; they must be like it."""
    path = f"{INPUT}.workerCount"
    count = given.get(path) or 0
    if not count:
        if given.get(f"{INPUT}.workerType"):
            where = given.where(f"{INPUT}.workerType")
            expected = "a workerCount above 0"
            problems.append(dropped(where, "workers without a workerCount", expected))
        return 0
    theirs = worker(given, problems)
    if theirs.machine and hardware.machine and theirs != hardware:
        expected = f"{_shown(hardware)}, as the master's"
        fix = "ranks on unlike machines wait for each other at every step"
        where = given.where(f"{INPUT}.workerType")
        problems.append(RULES["import-refused"].at(where, _shown(theirs), expected, fix))
    image = given.get(f"{INPUT}.workerConfig.imageUri")
    if image not in (None, given.get(f"{INPUT}.masterConfig.imageUri")):
        where = given.where(f"{INPUT}.workerConfig.imageUri")
        expected = "the master's image: all ranks run in one"
        problems.append(RULES["import-refused"].at(where, image[:80], expected))
    disk = boot_disk(given, "worker")
    if disk not in (None, boot_disk(given, "master")):
        where = f"{INPUT}.workerConfig.diskConfig"
        problems.append(dropped(where, f"the workers' disk {disk}", "one disk for all replicas"))
    return int(count)


def processes(
    given: Given,
    ran: Training,
    instances: int,
    hardware: Hardware,
    problems: list[Problem],
) -> int | None:
    """Ranks of each replica, where a launcher's ``-np`` says another number than its GPUs."""
    if ran.ranks is None:
        return None
    where = f"{INPUT}.masterConfig.containerCommand"
    if ran.every_replica and instances > 1:
        found = f"-np {ran.ranks} on each of {instances} replicas, {instances} jobs"
        expected = f"one job of world size {instances * ran.ranks}"
        problems.append(RULES["import-changed"].at(where, found, expected))
    ranks, left = (ran.ranks, 0) if ran.every_replica else divmod(ran.ranks, instances)
    if left or not ranks:
        expected = "as many on each"
        found = f"-np {ran.ranks} on {instances} replicas"
        problems.append(RULES["import-refused"].at(where, found, expected, "--processes"))
        return None
    if 0 < hardware.count < ranks:
        expected = f"at most {hardware.count}: one rank a GPU"
        found = f"-np {ran.ranks}, {ranks} ranks on {_shown(hardware)}"
        problems.append(RULES["import-refused"].at(where, found, expected))
        return None
    return None if ranks == (hardware.count or 1) else ranks


def reduction_servers(given: Given, problems: list[Problem]) -> dict[str, Any]:
    """Reduction servers are Horovod's only use of the old parameter servers' pool."""
    if given.get(f"{INPUT}.evaluatorCount"):
        expected = "no such replicas: evaluate in the training script, on rank 0"
        where = given.where(f"{INPUT}.evaluatorCount")
        problems.append(RULES["import-refused"].at(where, "an evaluator", expected))
    path = f"{INPUT}.parameterServerCount"
    count = given.get(path)
    if not count:
        return {}
    image = given.get(f"{INPUT}.parameterServerConfig.imageUri") or ""
    if _REDUCTION_SERVER not in image:
        expected = "none: a Horovod job has no parameter servers"
        found = f"{count} parameter servers"
        problems.append(RULES["import-refused"].at(given.where(path), found, expected))
        return {}
    name = given.get(f"{INPUT}.parameterServerType") or ""
    where = given.where(f"{INPUT}.parameterServerType")
    machine = machine_named(name, where, problems).machine if name else None
    return {"reduction_servers": count, "reduction_server_machine": machine or None}


def _shown(hardware: Hardware) -> str:
    if not hardware.accelerator:
        return f"{hardware.machine} without accelerators"
    return f"{hardware.machine} with {hardware.count} x {hardware.accelerator}"
