"""Jobs of this machine: started, followed, ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from launchers.core.analysis import standard_input
from launchers.core.model.jobs import JobDefinition, JobHandle, LogLine
from launchers.core.model.problems import Problem
from launchers.core.paths import is_elsewhere
from launchers.core.source.bundle import SourceBundle
from launchers.local.job_folder import JobFolder
from launchers.local.preflight import preflight
from launchers.local.script_mode import MADE_FOLDERS
from launchers.machine.supervised.kept import document_of, folder_of
from launchers.machine.supervised.service import SupervisedService


class LocalService(SupervisedService):
    """Ranks as processes on this machine, each simulated host with its own agent."""

    provider = "local"
    supervisor = "launchers.local.supervisor"

    def preflight(self, definition: JobDefinition) -> list[Problem]:
        """See :func:`launchers.local.preflight.preflight`."""
        return preflight(definition)

    def fill(self, folder: Path, definition: JobDefinition, bundle: SourceBundle) -> None:
        """The folders that a script may write to at once."""
        JobFolder(folder).model.mkdir()
        environment = definition.document["environment"]
        checkpoints = environment["LAUNCH_CHECKPOINT_DIR"]
        own = [] if is_elsewhere(checkpoints) else [Path(checkpoints)]
        for place in (*own, *_places_below(folder, environment)):
            place.mkdir(parents=True, exist_ok=True)

    def world_size_of(self, document: Mapping[str, Any]) -> int:
        """See :meth:`SupervisedService.world_size_of`."""
        return int(document["world_size"])

    def hands_on_input(self, definition: JobDefinition) -> bool:
        """An only rank reads what this process was given."""
        return definition.document["world_size"] == 1 and standard_input.is_given()

    def without_gpus(self, handle: JobHandle) -> bool:
        """See :meth:`Service.without_gpus`."""
        hosts = document_of(handle).get("hosts", [])
        return bool(hosts) and not any(
            host["environment"].get("CUDA_VISIBLE_DEVICES") for host in hosts
        )

    def rank_lines(
        self, handle: JobHandle, rank: int, follow: bool, since: float
    ) -> Iterator[LogLine]:
        """Everything that one rank printed, from its own file, which tells no times."""
        self.require_rank(handle, rank)
        folder = JobFolder(folder_of(handle).path)
        hosts = document_of(handle)["hosts"]
        host = next(one["name"] for one in hosts if rank in one["ranks"])
        for text in self.lines_of(folder.rank_log(rank), handle, follow):
            yield LogLine(0.0, host, rank, text)


def _places_below(folder: Path, environment: Mapping[str, str]) -> list[Path]:
    """The folders that SageMaker makes for a script's output, where the job has such."""
    places = [Path(environment[name]) for name in MADE_FOLDERS if name in environment]
    return [place for place in places if folder in place.parents]
