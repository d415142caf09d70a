"""The folder of one local job: what lies in it besides what every supervised job has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from launchers.machine.supervised import folder


@dataclass(frozen=True)
class JobFolder(folder.JobFolder):
    """Paths below one job's folder; nothing is made by asking for them."""

    @property
    def model(self) -> Path:
        """LAUNCH_MODEL_DIR of the ranks."""
        return self.path / "model"

    @property
    def output(self) -> Path:
        """SM_OUTPUT_DIR of a script that was written for SageMaker."""
        return self.path / "output"

    @property
    def packages(self) -> Path:
        """What ``--requirements`` installed for this job."""
        return self.path / "packages"

    def rank_log(self, rank: int) -> Path:
        """Everything that one rank printed, as it came."""
        return self.logs / f"rank-{rank}.log"
