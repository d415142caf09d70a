"""What carries out tasks: this machine's cores, a Dask cluster, a Spark cluster."""

from __future__ import annotations

import importlib
from typing import Iterator, Protocol, Sequence

from ...errors import TrainingError
from ..tasks import Task, TaskRecord


class NotGivenOutError(TrainingError):
    """An engine that was started gave out no task: nobody can be at work on one."""


class Engine(Protocol):
    """Carries out tasks with ``lib.conversion.work.perform``, each at least once.

    A task may be done again after a worker was lost: its files are the same.
    """

    def run(self, tasks: Sequence[Task]) -> Iterator[TaskRecord]:
        """The tasks' records in the order in which they are done; blocks.

        Raises:
            NotGivenOutError: The workers cannot do the tasks: they don't see IMAGES or OUT, or
                lack a package.
            TrainingError: A task failed (a full disk, a bad picture with ``skip_bad`` off), a
                worker was lost for good, or the cluster is gone. The tasks that are done keep
                their files and records.
        """

    def close(self) -> None:
        """Ends what it started (workers, a local cluster), also in the middle of ``run``."""


# By name, which is its module's; that is imported on use, since it needs its library.
_CLASSES = {"process": "ProcessEngine", "dask": "DaskEngine", "spark": "SparkEngine"}
NAMES = tuple(_CLASSES)
# Whose workers end with the conversion that started them, however that ends. A cluster's may
# still be at work when it is gone.
BOUND = "process"


def start(name: str, workers: int | None, address: str | None, tasks: int) -> Engine:
    """The engine of that name, started: its workers wait for the first task. Blocks.

    Args:
        name: Of NAMES.
        workers: Processes on this machine; None: as many as this process may use cores.
        address: Of a Dask scheduler or a Spark master; None: a local cluster, or no cluster.
        tasks: How many there will be: the process engine starts no more workers than that.

    Raises:
        TrainingError: Its library is not installed, or nothing answers at that address.
    """
    if name not in _CLASSES:
        raise TrainingError(f"--engine: {name}; expected {', '.join(NAMES)}")
    module = importlib.import_module(f"{__name__}.{name}")
    if name == "process":
        workers = min(workers or module.usable_cores(), tasks)
    engine: Engine = getattr(module, _CLASSES[name])(address, workers)
    return engine
