"""Which Python the ranks run in, and what the driver's must have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from launchers.core.model.problems import Problem
from launchers.core.spark.master import Kind
from launchers.core.strategies import FIRST
from launchers.core.strategies.strategy import Strategy
from launchers.machine.python_environment import PythonEnvironment
from launchers.spark.catalogue import RULES
from launchers.spark.options import CLIENT, SparkJob
from launchers.spark.planning.archives import ENVIRONMENT, Archive
from launchers.spark.planning.spark_home import SparkHome

# The first Spark with pyspark.ml.torch.distributor.
_TORCH_SINCE = (3, 4)
_WORKERS_OWN = "python3"


@dataclass(frozen=True)
class WorkerPython:
    """The Python of the executors, and so of the ranks.

    Attributes:
        path: As the executors see it: absolute, below their working folder, or a name on PATH.
        origin: Where the choice came from.
        is_drivers: Whether it is known to be the driver's own.
    """

    path: str
    origin: str
    is_drivers: bool = False


def choose_worker_python(
    job: SparkJob, kind: Kind | None, archives: Sequence[Archive], driver: PythonEnvironment
) -> WorkerPython:
    """``--worker-python``, else that of the archived environment, else the driver's where the
    executors are on this machine by definition, else the workers' own ``python3``."""
    named = job.options.worker_python
    if named:
        return WorkerPython(named, "--worker-python", named == driver.path)
    if any(one.name == ENVIRONMENT for one in archives):
        return WorkerPython(f"./{ENVIRONMENT}/bin/python", "of --archive")
    if kind in ("local", "local-cluster"):
        return WorkerPython(driver.path, "the driver's", is_drivers=True)
    return WorkerPython(_WORKERS_OWN, "the workers' own; else --archive or --worker-python")


def driver_problems(
    job: SparkJob, driver: PythonEnvironment, spark: SparkHome, strategy: Strategy
) -> list[Problem]:
    """What the driver's Python and Spark lack. In cluster mode the driver runs where nothing is
    known of them."""
    problems = []
    if strategy.name == "torch" and spark.release and spark.release < _TORCH_SINCE:
        problems.append(RULES["spark-torch-version"].at("--spark-home", f"Spark {spark.version}"))
    if job.options.deploy_mode == CLIENT and strategy.name == FIRST and not driver.horovod:
        found = f"{driver.path} ({driver.origin}) has no Horovod"
        problems.append(RULES["spark-no-horovod"].at("--python", found))
    return problems
