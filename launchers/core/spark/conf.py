"""The properties of a job: by them Spark starts as many ranks as were asked for, once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from launchers.core.records import nonce
from launchers.core.spark import keys
from launchers.core.spark.master import Kind

# Spark's own pattern (spark.redaction.regex, "Configuration"), Azure's keys and the job's nonce.
_REDACTED = "(?i)secret|password|token|access[.]?key|account[.]?key|nonce"
# So that a driver that has counted its slots does not wait ten minutes for one that went away.
_BARRIER = {keys.BARRIER_INTERVAL: "1s", keys.BARRIER_FAILURES: "3"}
# What is started once, and counted by nobody but --instances and --processes.
_ONCE = {
    keys.DYNAMIC_ALLOCATION: "false",
    keys.SPECULATION: "false",
    keys.TASK_FAILURES: "1",
    keys.STAGE_ATTEMPTS: "1",
    # The driver waits for executors itself: SparkContext's own wait says nothing while it lasts.
    keys.REGISTERED_SECONDS: "0s",
    keys.REDACTION: _REDACTED,
}
_WHOLE = re.compile(r"0*[1-9][0-9]{0,8}")
NUMBER = "a whole number from 1 to 999,999,999"
# By which properties a cluster learns the size: a standalone master starts executors until the job
# has so many cores, the others start so many executors. One process has no other executor.
_SIZE_OF: dict[Kind | None, tuple[str, ...]] = {
    "local": (),
    "local-cluster": (keys.CORES_MAX, keys.EXECUTOR_CORES),
    "standalone": (keys.CORES_MAX, keys.EXECUTOR_CORES),
    "yarn": (keys.EXECUTOR_INSTANCES, keys.EXECUTOR_CORES),
    "kubernetes": (keys.EXECUTOR_INSTANCES, keys.EXECUTOR_CORES),
    None: (),
}


@dataclass(frozen=True)
class Executors:
    """How many ranks a job has, and what each takes.

    Attributes:
        instances: Executors.
        processes: Ranks of each.
        gpus: GPUs of each executor.
        task_cpus: Cores of each rank.
        barrier: Whether they start in one barrier stage (PyTorch's TorchDistributor).
    """

    instances: int
    processes: int
    gpus: int = 0
    task_cpus: int = 1
    barrier: bool = False

    @property
    def world_size(self) -> int:
        """Ranks, which are tasks that run at once."""
        return self.instances * self.processes

    @property
    def cores(self) -> int:
        """Of each executor: as many tasks run in it as it has ranks, and no more."""
        return self.processes * self.task_cpus


def task_cpus_of(conf: Mapping[str, str]) -> int:
    """``spark.task.cpus``; 1 where nobody says it, or says it wrongly."""
    return whole(conf.get(keys.TASK_CPUS, "")) or 1


def whole(value: str) -> int | None:
    """``4`` of ``"4"``, as Spark reads it: blanks around it and zeros before it say nothing. None
    for anything but :data:`NUMBER`."""
    return int(value) if _WHOLE.fullmatch(value.strip()) else None


def size_conf(executors: Executors) -> dict[str, str]:
    """Every property that says how many tasks run at once, whichever a cluster reads."""
    return {
        keys.EXECUTOR_INSTANCES: str(executors.instances),
        keys.EXECUTOR_CORES: str(executors.cores),
        keys.CORES_MAX: str(executors.instances * executors.cores),
    }


def settled(executors: Executors, kind: Kind | None) -> dict[str, str]:
    """The properties that decide how many ranks are started, and how often.

    Args:
        kind: Of the cluster; None where it is none of those that a ``--master`` names.
    """
    conf = {
        **_ONCE,
        keys.TASK_CPUS: str(executors.task_cpus),
        **(_BARRIER if executors.barrier else {}),
    }
    size = size_conf(executors)
    conf.update((key, size[key]) for key in _SIZE_OF[kind])
    if kind == "yarn":
        conf[keys.APP_ATTEMPTS] = "1"
    # Also none: else those of a cluster's spark-defaults.conf would count.
    conf[keys.EXECUTOR_GPUS] = str(executors.gpus)
    conf[keys.TASK_GPUS] = "1" if executors.gpus else "0"
    return conf


def conf_for(
    executors: Executors,
    kind: Kind | None,
    *,
    given: Mapping[str, str],
    environment: Mapping[str, str],
    settings: Mapping[str, str],
    python: str = "",
    driver_python: str = "",
    deploy_mode: str = "client",
) -> dict[str, str]:
    """Every property of a job, sorted. What is decided here wins over what is ``given``
    (:func:`launchers.core.spark.conf_rules.problems_in_conf` refuses what it would change).

    Args:
        given: ``--conf``.
        environment: The variables of every rank. The nonce among them is for the driver alone: in
            client mode it stands in no property.
        settings: What the driver program reads, by the names in :mod:`launchers.core.spark.keys`:
            ``slots.seconds``, ``start.seconds``, ``result``.
        python: Of the executors and of the ranks; empty for the workers' own ``python3``.
        driver_python: Of the driver.
        deploy_mode: ``client`` or ``cluster``.
    """
    ours = {
        **settled(executors, kind),
        **{f"{keys.OURS}{name}": value for name, value in settings.items()},
        f"{keys.OURS}{keys.GPUS}": str(executors.gpus),
        keys.EXCLUSION: "false",
    }
    if deploy_mode == "cluster" and kind in keys.WAIT:
        # Else spark-submit could end with the job under way, if the user's defaults say so.
        ours[keys.WAIT[kind]] = "true"
    if python:
        ours[keys.PYTHON] = ours[f"{keys.OURS}{keys.EXECUTABLE}"] = python
    if executors.gpus and kind == "kubernetes":
        ours[keys.GPU_VENDOR] = given.get(keys.GPU_VENDOR, "nvidia.com")
    if driver_python:
        ours[keys.DRIVER_PYTHON] = driver_python
    for name, value in environment.items():
        if name != nonce.VARIABLE:
            ours[f"{keys.EXECUTOR_ENV}{name}"] = value
        elif deploy_mode == "cluster" and kind in keys.DRIVER_ENV:
            ours[f"{keys.DRIVER_ENV[kind]}{name}"] = value
    return dict(sorted({**given, **ours}.items()))
