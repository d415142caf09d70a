"""The folder of one Spark job: what lies there besides what every supervised job has."""

from __future__ import annotations

from pathlib import Path

from launchers.machine.supervised.folder import JobFolder


class SparkFolder(JobFolder):
    """Paths below one job's folder; nothing is made by asking for them."""

    @property
    def bundle(self) -> Path:
        """Agent, guard and the user's source, as executors get them."""
        return self.path / "code.tar.gz"

    @property
    def code(self) -> Path:
        """The same, unpacked for the driver."""
        return self.path / "code"

    @property
    def properties(self) -> Path:
        """What spark-submit reads and no command line may show; its owner's alone."""
        return self.path / "spark.conf"

    @property
    def driver_result(self) -> Path:
        """How the driver program ended, which it writes itself."""
        return self.path / "driver-result.json"

    @property
    def model(self) -> Path:
        """LAUNCH_MODEL_DIR of the ranks."""
        return self.path / "model"

    @property
    def spark_log(self) -> Path:
        """Spark's own log, apart from what the job prints."""
        return self.logs / "spark.log"
