"""Jobs on Spark executors: started by spark-submit, followed, ended."""

from __future__ import annotations

import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from launchers.core.model.jobs import JobDefinition, JobHandle
from launchers.core.model.problems import Problem
from launchers.core.source.bundle import SourceBundle
from launchers.core.spark import keys
from launchers.machine.supervised.kept import document_of
from launchers.machine.supervised.service import SupervisedService
from launchers.spark.job_folder import SparkFolder
from launchers.spark.service.reading import rank_environment_of


class SparkService(SupervisedService):
    """One spark-submit a job, owned by a supervisor of this machine: with the driver in it, or
    watching the one that runs in the cluster."""

    provider = "spark"
    supervisor = "launchers.spark.service.supervisor"

    def preflight(self, definition: JobDefinition) -> list[Problem]:
        """See :func:`launchers.spark.service.preflight.preflight`."""
        # Only now: a dry run, which asks for names alone, needs no HTTP.
        from launchers.spark.service.preflight import preflight

        return preflight(definition.document)

    def fill(self, folder: Path, definition: JobDefinition, bundle: SourceBundle) -> None:
        """The archive that executors get, the same unpacked for the driver, the model's folder."""
        files = SparkFolder(folder)
        bundle.write_tar_gz(files.bundle)
        _unpack(files.bundle, files.code)
        files.model.mkdir()

    def world_size_of(self, document: Mapping[str, Any]) -> int:
        """See :meth:`SupervisedService.world_size_of`."""
        return int(rank_environment_of(document)["LAUNCH_WORLD_SIZE"])

    def without_gpus(self, handle: JobHandle) -> bool:
        """See :meth:`Service.without_gpus`."""
        conf = document_of(handle).get("conf", {})
        return bool(conf.get(keys.OURS + keys.GPUS) == "0")


def _unpack(archive: Path, folder: Path) -> None:
    """Our own archive, written a moment ago."""
    safe: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(archive) as opened:
        opened.extractall(folder, **safe)
