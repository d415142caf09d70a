"""How many ranks a document asks for, and how many slots its properties give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from launchers.core.model.problems import Problem
from launchers.core.planning.plan import counted
from launchers.core.rules.model_check import place, shown
from launchers.core.spark import keys
from launchers.core.spark.conf import NUMBER, Executors, whole
from launchers.core.spark.master import Master
from launchers.core.strategies import FIRST, VARIABLE
from launchers.spark.catalogue import RULES

STRATEGIES = (FIRST, "torch")
_NAMES = ("LAUNCH_INSTANCES", "LAUNCH_PROCESSES", "LAUNCH_WORLD_SIZE")


@dataclass(frozen=True)
class Size:
    """What a document says of its ranks.

    Attributes:
        executors: What is asked for; None where that is not said.
        carried: The world size that it names.
        slots: Tasks that run at once by its properties; None where those do not say.
        because: Why so many.
    """

    executors: Executors | None
    carried: int | None
    slots: int | None
    because: str


def read_size(conf: Mapping[str, str], master: Master | None) -> Size:
    """What the properties of a document say."""
    instances, processes, carried = (_whole(conf, keys.EXECUTOR_ENV + name) for name in _NAMES)
    executors = None
    if instances and processes:
        executors = Executors(
            instances,
            processes,
            _whole(conf, keys.OURS + keys.GPUS) or 0,
            _whole(conf, keys.TASK_CPUS) or 1,
            barrier=conf.get(keys.EXECUTOR_ENV + VARIABLE) == "torch",
        )
    slots, because = _slots(conf, master)
    return Size(executors, carried, slots, because)


def problems_in_size(conf: Mapping[str, str], size: Size, expected: int | None) -> list[Problem]:
    """Numbers that are missing, or differ from each other.

    Args:
        expected: The world size that the caller means (``--world-size``).
    """
    problems = []
    for name in _NAMES:
        key = keys.EXECUTOR_ENV + name
        if _whole(conf, key) is None:
            found = shown(conf[key]) if key in conf else "missing"
            problems.append(RULES["world-size"].at(_at(key), found, NUMBER))
    if size.executors and size.carried and size.carried != size.executors.world_size:
        product = f"{size.executors.instances} x {size.executors.processes}"
        wanted = f"{size.executors.world_size}, LAUNCH_INSTANCES x LAUNCH_PROCESSES = {product}"
        problems.append(
            RULES["world-size"].at(_at(keys.EXECUTOR_ENV + _NAMES[2]), str(size.carried), wanted)
        )
    if size.slots is not None and size.carried and size.slots < size.carried:
        found = f"{counted(size.slots, 'slot')} ({size.because}) for {size.carried} ranks"
        problems.append(RULES["spark-slots"].at("$.conf", found))
    started = size.carried
    if expected and started and expected != started:
        found = f"{started}, as the document says"
        problems.append(RULES["world-size"].at("--world-size", str(expected), found))
    strategy = conf.get(keys.EXECUTOR_ENV + VARIABLE, FIRST)
    if strategy not in STRATEGIES:
        problems.append(
            RULES["strategy-provider"].at(
                _at(keys.EXECUTOR_ENV + VARIABLE),
                shown(strategy),
                "horovod or torch, which is all that the driver starts",
                "leave it out for Horovod",
            )
        )
    return problems


def _slots(conf: Mapping[str, str], master: Master | None) -> tuple[int | None, str]:
    """How many tasks run at once, and why."""
    if master is None:
        return None, "its master is not valid"
    task = _whole(conf, keys.TASK_CPUS) or 1
    if master.kind == "local":
        if master.threads is None:
            return None, f"{master.text} has as many slots as the driver's machine has cores"
        return master.threads // task, f"{master.text} is one executor"
    cores = _whole(conf, keys.EXECUTOR_CORES)
    if master.kind in ("standalone", "local-cluster"):
        key, most = keys.CORES_MAX, _whole(conf, keys.CORES_MAX)
        executors = most // cores if most and cores else None
    else:
        key, executors = keys.EXECUTOR_INSTANCES, _whole(conf, keys.EXECUTOR_INSTANCES)
    if executors is None or cores is None:
        return None, f"it does not say {key} and {keys.EXECUTOR_CORES}"
    each = cores // task
    said = f"{counted(executors, 'executor')} x {counted(each, 'slot')}"
    return executors * each, f"{said} by {key} and {keys.EXECUTOR_CORES}"


def _whole(conf: Mapping[str, str], key: str) -> int | None:
    return whole(conf.get(key, ""))


def _at(key: str) -> str:
    return place("$.conf", key)
