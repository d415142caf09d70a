"""Jobs of a spark-submit whose end is known, run by their supervisor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from launchers.core.records.nonce import stamp_of
from tests.places import ROOT
from tests.waiting import processes_with

NONCE = "0123456789abcdef" * 2
STAMP = stamp_of(NONCE)
PROOF = "world size 2: 2 hosts x 1 rank, Gloo"


class Job:
    """A job's folder, and the supervisor that runs it."""

    def __init__(self, folder: Path, environment: dict[str, str]):
        self.folder = folder
        self._environment = environment

    def start(self) -> subprocess.Popen[bytes]:
        """The supervisor; the caller ends it."""
        return subprocess.Popen(
            [sys.executable, "-m", "launchers.spark.service.supervisor", str(self.folder)],
            env=self._environment,
            stdin=subprocess.DEVNULL,
        )

    def run(self) -> dict[str, Any]:
        """The result of the job, run to its end."""
        with self.start() as supervisor:
            assert supervisor.wait(120) == 0
        return self.result

    @property
    def result(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "result.json").read_text())
        return found

    @property
    def log(self) -> str:
        path = self.folder / "logs" / "job.log"
        return path.read_text() if path.exists() else ""

    @property
    def arguments(self) -> list[str]:
        """Of spark-submit."""
        found: list[str] = json.loads((self.folder / "arguments.json").read_text())
        return found

    def processes(self) -> dict[int, str]:
        """Those of spark-submit that live."""
        return processes_with(str(self.folder / "spark"))


def made(scratch: Path, body: str, conf: dict[str, str] | None = None, **changes: Any) -> Job:
    """A job whose spark-submit is the program ``body``, in client mode on a standalone master.

    Args:
        scratch: Where its folder, LAUNCH_HOME and ``bin`` of its PATH are made.
        conf: On top of the job's own.
        changes: Of its document.
    """
    folder = scratch / "job"
    (folder / "logs").mkdir(parents=True)
    submit = folder / "spark" / "bin" / "spark-submit"
    submit.parent.mkdir(parents=True)
    submit.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        f"json.dump(sys.argv[1:], open({str(folder / 'arguments.json')!r}, 'w'))\n{body}"
    )
    submit.chmod(0o755)
    document = {
        "kind": "launch/spark",
        "name": "job",
        "master": "spark://127.0.0.1:7077",
        "deploy_mode": "client",
        "conf": {
            "spark.executorEnv.LAUNCH_INSTANCES": "2",
            "spark.executorEnv.LAUNCH_PROOF": "init",
            "spark.executorEnv.LAUNCH_WORLD_SIZE": "2",
            "spark.launch.result": str(folder / "driver-result.json"),
            **(conf or {}),
        },
        "files": [],
        "archives": [],
        "application": "driver.py",
        "arguments": ["train.py"],
        "environment": {"LAUNCH_NONCE": NONCE},
        "driver_python": sys.executable,
        "spark_home": str(folder / "spark"),
        "max_runtime_seconds": None,
        "folder": str(folder),
        **changes,
    }
    (folder / "definition.json").write_text(json.dumps(document))
    environment = {
        **{name: value for name, value in os.environ.items() if "PYTHON" not in name},
        "LAUNCH_HOME": str(scratch / "home"),
        "PATH": f"{scratch / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": "/not/this",
        "SPARK_CONNECT_MODE_ENABLED": "1",
        "SPARK_LOCAL_REMOTE": "1",
        "SPARK_REMOTE": "sc://not-this",
    }
    return Job(folder, environment)


def says_result(state: str = "succeeded", stamp: str = STAMP, **more: Any) -> str:
    """A program that leaves the driver's result."""
    told = {"stamp": stamp, "state": state, "reason": "", "fix": "", **more}
    return f"open('driver-result.json', 'w').write(json.dumps({told!r}))\n"


def in_cluster(**more: Any) -> dict[str, Any]:
    """What makes it a job whose driver runs on YARN."""
    return {
        "master": "yarn",
        "deploy_mode": "cluster",
        "environment": {},
        "conf": {"spark.yarn.appMasterEnv.LAUNCH_NONCE": NONCE},
        **more,
    }
