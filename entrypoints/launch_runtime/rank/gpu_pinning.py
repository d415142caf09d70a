"""Leaves a rank the one GPU that is its own, by CUDA_VISIBLE_DEVICES; imports no framework."""

from __future__ import annotations

import glob
import os
from typing import Mapping, MutableMapping, Sequence

from launch_runtime import lines
from launch_runtime.rank.refusal import RefusalError

VARIABLE = "CUDA_VISIBLE_DEVICES"
# What Spark's resource discovery has given the rank's own task: its device, whatever the number of
# the rank among those of its machine.
TASK_DEVICES = "LAUNCH_TASK_GPUS"


def pin(environment: MutableMapping[str, str], local_rank: int) -> None:
    """Where LAUNCH_PIN_GPU is ``guard``, leaves the local-rank-th of the host's devices.

    A host without devices keeps none. Other values of LAUNCH_PIN_GPU change nothing. Where
    LAUNCH_TASK_GPUS names devices, the first of them is the rank's.

    Raises:
        RefusalError: The host was given fewer devices than it has ranks, or the rank's task none.
    """
    task = environment.pop(TASK_DEVICES, None)
    if environment.get("LAUNCH_PIN_GPU") != "guard":
        return
    if task is not None:
        environment[VARIABLE] = _own(devices(task))
        return
    if VARIABLE not in environment:
        environment[VARIABLE] = str(local_rank)
        return
    given = devices(environment[VARIABLE])
    if not given:
        return
    if local_rank >= len(given):
        raise RefusalError(
            f"a GPU for local rank {local_rank}",
            "{} in {}={}".format(lines.count(len(given), "GPU"), VARIABLE, environment[VARIABLE]),
            "more ranks on this host than GPUs",
            "use fewer --processes, or --pin-gpu none",
        )
    environment[VARIABLE] = given[local_rank]


def _own(given: Sequence[str]) -> str:
    if not given:
        raise RefusalError(
            "a GPU for this rank's task",
            "none among its resources",
            "Spark gives a task GPUs only where workers, executors and tasks all ask for them",
            "give spark.executor.resource.gpu.amount, spark.task.resource.gpu.amount and a "
            "discovery script",
        )
    return given[0]


def sees_devices(environment: Mapping[str, str], on_host: Sequence[str]) -> bool:
    """Whether a rank has a GPU.

    Args:
        environment: Of the rank.
        on_host: The host's own, such as ``/dev/nvidia0``.
    """
    return bool(on_host) and (VARIABLE not in environment or bool(devices(environment[VARIABLE])))


def rank_sees_devices() -> bool:
    """Whether this process has a GPU."""
    return sees_devices(os.environ, glob.glob("/dev/nvidia[0-9]*"))


def devices(text: str) -> list[str]:
    """The devices that CUDA would show: it stops at the first entry that is none, such as -1."""
    found = []
    for entry in text.split(","):
        name = entry.strip()
        if not name or name.startswith("-") or name == "NoDevFiles":
            break
        found.append(name)
    return found
