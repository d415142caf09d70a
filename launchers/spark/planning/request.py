"""A job on Spark with every default decided: what its document has of that."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from launchers.core.analysis.keras_choice import KerasChoice
from launchers.core.model.jobs import Placeholder
from launchers.core.paths import is_elsewhere
from launchers.core.planning.plan import Plan, counted
from launchers.core.planning.rank_environment import rank_environment
from launchers.core.records import nonce
from launchers.core.rules.secrets import with_whole_paths
from launchers.core.spark import keys
from launchers.core.spark.conf import Executors, conf_for
from launchers.core.spark.master import Master
from launchers.core.spec import limits
from launchers.core.wrappings.places import joined
from launchers.machine.python_environment import PythonEnvironment
from launchers.machine.supervised.folder import output_root
from launchers.spark.document import CODE, secret_conf
from launchers.spark.job_folder import SparkFolder
from launchers.spark.options import CLUSTER, SLOTS, START, SparkJob
from launchers.spark.planning.archives import Archive
from launchers.spark.planning.python import WorkerPython
from launchers.spark.planning.spark_home import SparkHome

# Seconds; START is horovod.spark.run's start_timeout, whose own default of 600 holds slots that
# long where a rank cannot start.
WAITS = {SLOTS: 300, START: 120}


@dataclass(frozen=True, kw_only=True)
class Request(Plan):
    """What templates/spark needs besides.

    Attributes:
        master: The cluster.
        executors: How many, and what each of their ranks takes.
        python: The driver's.
        worker_python: The executors' and the ranks'.
        spark: Where spark-submit lies.
        archives: What executors unpack besides the source.
    """

    job: SparkJob
    master: Master
    executors: Executors
    python: PythonEnvironment
    worker_python: WorkerPython
    spark: SparkHome
    archives: Sequence[Archive]
    keras: KerasChoice

    @property
    def layout(self) -> str:
        """Executors, ranks and world size, in words."""
        ranks = counted(self.processes, "rank")
        executors = counted(self.instances, "executor")
        return f"{executors} x {ranks} = world size {self.world_size}"

    @property
    def folder(self) -> SparkFolder:
        """The job's own."""
        return SparkFolder(output_root(self.job.output_path) / self.name)

    @property
    def checkpoints(self) -> str:
        """Where the checkpoints lie, as the executors see it."""
        place = self._checkpoint_place(str(self.folder.checkpoints))
        return place if is_elsewhere(place) else os.path.abspath(os.path.expanduser(place))

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables of every rank."""
        secrets = with_whole_paths(self.job.secrets)
        return {
            **rank_environment(self, self.checkpoints, provider="spark", secrets=secrets),
            "LAUNCH_MODEL_DIR": str(self.folder.model),
            **self.keras.variables,
        }

    @property
    def in_cluster(self) -> bool:
        """Whether the driver runs there."""
        return self.job.options.deploy_mode == CLUSTER

    @property
    def waits(self) -> Mapping[str, int]:
        """Seconds by the names of ``--limit``."""
        return {**WAITS, **limits.in_seconds(self.job.options.limits)}

    @property
    def conf(self) -> Mapping[str, str]:
        """Every property, sorted."""
        return conf_for(
            self.executors,
            self.master.kind,
            given=given_conf(self.job, self.master),
            environment=self.environment,
            settings={
                keys.SLOTS_SECONDS: str(self.waits[SLOTS]),
                keys.START_SECONDS: str(self.waits[START]),
                keys.RESULT: str(self.folder.driver_result),
            },
            python=self.worker_python.path,
            driver_python="" if self.in_cluster else self.python.path,
            deploy_mode=self.job.options.deploy_mode,
        )

    @property
    def archive_list(self) -> Sequence[str]:
        """As spark-submit takes them."""
        code = Archive(str(self.folder.bundle), CODE)
        return [one.text for one in (code, *self.archives)]

    @property
    def application(self) -> str:
        """The driver program."""
        return str(self.folder.code / "spark_driver.py")

    @property
    def arguments(self) -> Sequence[str]:
        """The program that each rank runs, as the guard takes it."""
        return [*self.source.program, *self.job.arguments]

    @property
    def driver_environment(self) -> Mapping[str, str]:
        """The variables of a driver on this machine."""
        return {} if self.in_cluster else {nonce.VARIABLE: nonce.PLACEHOLDER}

    @property
    def machine_name(self) -> str:
        """The cluster, which is where its ranks run."""
        return self.master.text

    @property
    def placeholders(self) -> tuple[Placeholder, ...]:
        """The nonce, wherever the driver gets it."""
        if not self.in_cluster:
            return (nonce.placeholder(f"$.environment.{nonce.VARIABLE}"),)
        names = secret_conf({"conf": self.conf})
        return tuple(nonce.placeholder(joined("$.conf", name)) for name in names)


def given_conf(job: SparkJob, master: Master) -> dict[str, str]:
    """``--conf``, and ``--image`` where executors are containers."""
    image = {keys.CONTAINER_IMAGE: job.image} if master.kind == "kubernetes" and job.image else {}
    return {**image, **job.options.conf}
