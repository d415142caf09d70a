"""A job's document as containers of this machine run it: on a standalone cluster of their own, with
every change told. Pure.

Everything else in it stays as it is, above all the program, its archives and its properties.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from launchers.core.model.document import mapping, whole_number
from launchers.core.planning.plan import counted
from launchers.core.spark import keys
from launchers.core.spark.conf import Executors, size_conf, task_cpus_of
from launchers.core.spark.master import Kind, Master, read_master

MASTER_HOST, MASTER_PORT = "master", 7077
# Of an image, wherever it lies in it.
PYTHON = "python3"
_STANDALONE = f"spark://{MASTER_HOST}:{MASTER_PORT}"
_INSTANCES, _PROCESSES = "LAUNCH_INSTANCES", "LAUNCH_PROCESSES"
_WORLD_SIZE = "LAUNCH_WORLD_SIZE"
# Of the machine that submits; a container has its own.
_OF_THE_DRIVERS_MACHINE = ("spark.driver.host", "spark.driver.bindAddress")
_NOT_REHEARSED: Mapping[Kind, str] = {
    "yarn": "YARN's queues, containers and memory limits are not rehearsed",
    "kubernetes": "pods, their image and their volumes are not rehearsed",
}


@dataclass(frozen=True)
class Rehearsed:
    """What runs here of a document.

    Attributes:
        document: With its places and its sizes as the containers have them.
        executors: Containers that are a worker with one executor; 0 where the driver has the ranks.
        processes: Ranks of each executor, or of the driver.
        cores: Of each worker.
        gpus: Of each executor.
        instead: What stands for something of the document, a line each.
        unlike: What of its cluster is not rehearsed, a line each.
    """

    document: Mapping[str, Any]
    executors: int
    processes: int
    cores: int
    gpus: int
    instead: tuple[str, ...]
    unlike: tuple[str, ...]

    @property
    def folder(self) -> str:
        """The job's own, which driver and executors share."""
        return str(self.document.get("folder") or "/launch/job")

    @property
    def ranks_environment(self) -> dict[str, str]:
        """The variables of every rank."""
        return _ranks_environment(self.document)


def rehearsed(document: Mapping[str, Any], ranks_per_host: int | None = None) -> Rehearsed:
    """``document`` for containers of this machine; it is not changed.

    Args:
        ranks_per_host: Stands for the document's own number of ranks an executor.
    """
    changes = _Changes(document)
    changes.sizes(ranks_per_host)
    changes.driver()
    changes.cluster()
    changes.python()
    return changes.done()


class _Changes:
    """What becomes of a document, step by step; each step notes what it changed."""

    def __init__(self, document: Mapping[str, Any]):
        self._document = dict(document)
        self._conf = mapping(document, "conf")
        self._environment = mapping(document, "environment")
        self._master = read_master(str(document.get("master"))) or Master("", "standalone")
        given = _ranks_environment(document)
        self._instances = whole_number(given.get(_INSTANCES)) or 1
        self._processes = whole_number(given.get(_PROCESSES)) or 1
        self._gpus = whole_number(self._conf.get(keys.EXECUTOR_GPUS)) or 0
        self._instead: list[str] = []

    def sizes(self, ranks_per_host: int | None) -> None:
        """Fewer ranks an executor, where that is asked for."""
        if ranks_per_host is None:
            return
        self._processes = ranks_per_host
        size = self._instances * ranks_per_host
        for name, value in ((_PROCESSES, ranks_per_host), (_WORLD_SIZE, size)):
            self._conf[f"{keys.EXECUTOR_ENV}{name}"] = str(value)

    def driver(self) -> None:
        """It runs in its container, with what a driver of the cluster would be given."""
        prefix = keys.DRIVER_ENV.get(self._master.kind, "")
        if self._document.get("deploy_mode") == "cluster":
            self._document["deploy_mode"] = "client"
            self._instead.append("the driver runs in a container of its own, not in the cluster")
        for name in [name for name in self._conf if prefix and name.startswith(prefix)]:
            self._environment[name.removeprefix(prefix)] = str(self._conf.pop(name))
        for name in _OF_THE_DRIVERS_MACHINE:
            if name in self._conf:
                self._instead.append(
                    f"{name}: the driver's container instead of {self._conf.pop(name)}"
                )

    def cluster(self) -> None:
        """A standalone master and workers of one executor each, or the driver's own process."""
        named = self._document.get("master")
        if self._master.kind == "local":
            if self._master.threads is not None and self._master.threads != self._processes:
                self._document["master"] = f"local[{self._processes}]"
                self._instead.append(f"master {self._document['master']} instead of {named}")
            return
        self._document["master"] = _STANDALONE
        with_workers = f"with {counted(self._instances, 'worker')} in containers"
        self._instead.append(f"master {_STANDALONE}, {with_workers}, instead of {named}")
        size = size_conf(self._executors)
        for name in (keys.CORES_MAX, keys.EXECUTOR_CORES):
            if name not in self._conf:
                self._instead.append(f"{name}={size[name]}: a standalone master counts cores")
            self._conf[name] = size[name]

    def python(self) -> None:
        """The image's Python and Spark, for a driver and workers that name their machines' own."""
        # The document says the driver's twice.
        self._document["driver_python"] = PYTHON
        if keys.DRIVER_PYTHON not in self._conf:
            # One in the cluster has the executors'; an archive is unpacked for those alone here.
            self._conf[keys.DRIVER_PYTHON] = self._conf.get(keys.PYTHON, PYTHON)
        self._replace(keys.DRIVER_PYTHON, self._conf, PYTHON)
        executable = f"{keys.OURS}{keys.EXECUTABLE}"
        for name in (keys.PYTHON, executable):
            # One below the working folder comes with an archive.
            if os.path.isabs(str(self._conf.get(name, ""))):
                self._replace(name, self._conf, PYTHON)
        home, self._document["spark_home"] = self._document.get("spark_home"), ""
        if home:
            self._instead.append(f"spark_home: the image's Spark instead of {home}")

    def done(self) -> Rehearsed:
        """The whole of it."""
        self._document["conf"] = dict(sorted(self._conf.items()))
        self._document["environment"] = self._environment
        unlike = _NOT_REHEARSED.get(self._master.kind, "")
        return Rehearsed(
            document=self._document,
            executors=0 if self._master.kind == "local" else self._instances,
            processes=self._processes,
            cores=self._executors.cores,
            gpus=self._gpus,
            instead=tuple(self._instead),
            unlike=(f"standalone workers run the executors; {unlike}",) if unlike else (),
        )

    @property
    def _executors(self) -> Executors:
        return Executors(self._instances, self._processes, self._gpus, task_cpus_of(self._conf))

    def _replace(self, name: str, where: dict[str, Any], value: str) -> None:
        if where.get(name) not in (None, value):
            self._instead.append(f"{name}: the image's {value} instead of {where[name]}")
            where[name] = value


def _ranks_environment(document: Mapping[str, Any]) -> dict[str, str]:
    conf = mapping(document, "conf")
    return {
        name.removeprefix(keys.EXECUTOR_ENV): str(value)
        for name, value in conf.items()
        if name.startswith(keys.EXECUTOR_ENV)
    }
