"""Hosts of a SageMaker training job on this machine: the bootstrap, the agent and the ranks are
real, each host has a tree like /opt/ml in a folder of its own."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.entrypoints.simulated import SimulatedJob
from tests.places import ENTRYPOINTS, TEMPLATES

# Hosts by the names that they are reached by; sorted as texts, as the service has them.
NAMES = ("127.0.0.1", "localhost")
# In the request (launchers/sagemaker/document.py).
STARTER = """eval "$(printf '%s\\n' "${@:2}")\""""
NONCE = "0123456789abcdef0123456789abcdef"
TREE = "/opt/ml"


class TrainingJob(SimulatedJob):
    """A job whose containers' entry point is our bootstrap.

    Attributes:
        programs: The folder that is all of the hosts' PATH before this machine's own.
        sha256: Of the bundle, as the request says it.
    """

    def __init__(self, folder: Path, hosts: int = 2, processes: int = 1, **environment: str):
        super().__init__(folder, hosts, processes, **environment)
        self.programs = folder / "bin"
        self.programs.mkdir()
        self.sha256 = ""

    def use_python(self, path: str, name: str = "python") -> None:
        """What the image has as ``python``, or as ``python3``."""
        (self.programs / name).write_text(f'#!/bin/sh\nexec {path} "$@"\n')
        (self.programs / name).chmod(0o755)

    def tree(self, index: int) -> Path:
        """One host's /opt/ml."""
        return self.folder / f"host-{index}" / "ml"

    def failure_file(self, index: int) -> str:
        """What a host has told the service of its failure, or ""."""
        path = self.tree(index) / "output" / "failure"
        return path.read_text("utf-8") if path.exists() else ""

    def start(
        self, index: int, *arguments: str, script: str = "train.py", **environment: str
    ) -> subprocess.Popen[bytes]:
        self._lay_out(index, script, arguments)
        merged = {
            **self.agent_environment(index),
            "LAUNCH_CLUSTER": "",
            "LAUNCH_SOURCE_DIR": "",
            "LAUNCH_NONCE": NONCE,
            "PATH": f"{self.programs}:/usr/bin:/bin",
            "TMPDIR": str(self.folder),
            **environment,
        }
        text = (TEMPLATES / "sagemaker" / "bootstrap.sh").read_text("utf-8")
        lines = text.replace(TREE, str(self.tree(index))).splitlines()
        command = ["/bin/bash", "-c", STARTER, "launch", self.sha256, *lines]
        return self._start(index, command, merged)

    def _lay_out(self, index: int, script: str, arguments: tuple[str, ...]) -> None:
        tree = self.tree(index)
        for folder in ("input/config", "input/data/code", "input/data/train", "model", "output"):
            (tree / folder).mkdir(parents=True, exist_ok=True)
        hosts = list(NAMES[: self.hosts])
        files: dict[str, Any] = {
            "resourceconfig": {
                "current_host": hosts[index],
                "current_instance_type": "ml.c5.xlarge",
                "current_group_name": "homogeneousCluster",
                "hosts": hosts,
                "instance_groups": [
                    {
                        "instance_group_name": "homogeneousCluster",
                        "instance_type": "ml.c5.xlarge",
                        "hosts": hosts,
                    }
                ],
                "network_interface_name": "lo",
            },
            "hyperparameters": {
                "epochs": "3",
                "sagemaker_program": '"guard.py"',
                "sagemaker_submit_directory": '"/opt/ml/input/data/code/sourcedir.tar.gz"',
                "sagemaker_container_log_level": "20",
                "sagemaker_job_name": json.dumps(self.name),
                "sagemaker_region": '"us-east-1"',
                "sagemaker_launch_script": json.dumps(script),
                "sagemaker_launch_args": json.dumps(list(arguments)),
            },
            "inputdataconfig": {
                name: {"TrainingInputMode": "File", "S3DistributionType": "FullyReplicated"}
                for name in ("train", "code")
            },
        }
        for name, content in files.items():
            (tree / "input/config" / f"{name}.json").write_text(json.dumps(content))
        bundle = self._bundle()
        self.sha256 = self.sha256 or hashlib.sha256(bundle).hexdigest()
        target = tree / "input/data/code/sourcedir.tar.gz"
        target.write_bytes(gzip.compress(bundle, 1))

    def _bundle(self) -> bytes:
        """The launcher's own files and the source, as a tar; the same at every call."""
        packed = self.folder / "bundle.tar"
        if packed.exists():
            return packed.read_bytes()
        staged = self.folder / "staged"
        left_out = shutil.ignore_patterns("__pycache__", "lib", "train_*.py", ".*")
        shutil.copytree(ENTRYPOINTS, staged, ignore=left_out)
        shutil.copytree(self.source, staged / "src")
        # Every port of a container is free; this machine's are not.
        cluster = staged / "launch_runtime/host/cluster.py"
        text, count = re.subn(
            r"(?m)^DEFAULT_PORT = \d+", f"DEFAULT_PORT = {self.port}", cluster.read_text()
        )
        assert count == 1
        cluster.write_text(text)
        with tarfile.open(packed, "w") as archive:
            for path in sorted(staged.iterdir()):
                archive.add(path, path.name)
        return packed.read_bytes()


def training_jobs(folder: Path) -> Iterator[Callable[..., TrainingJob]]:
    """For a fixture: makes jobs, and leaves no process of them behind."""
    jobs: list[TrainingJob] = []

    def make(**how: Any) -> TrainingJob:
        own = folder / f"job-{len(jobs)}"
        own.mkdir()
        jobs.append(TrainingJob(own, **how))
        jobs[-1].use_python(sys.executable)
        return jobs[-1]

    yield make
    for job in jobs:
        job.clean_up()
