"""`launch check` in this process, in a repository of its own."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from launchers.cli.failures import report
from launchers.cli.main import run
from tests.cli.command import Answer

IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/tensorflow-training:2.12.0-gpu-py310"
ALONE = "$.HyperParameters.sagemaker_mpi_enabled"


def job(**hyperparameters: str) -> dict[str, Any]:
    """A request that starts 8 ranks by MPI, unless its hyperparameters say otherwise."""
    return {
        "TrainingJobName": "mpi-demo",
        "AlgorithmSpecification": {"TrainingImage": IMAGE, "TrainingInputMode": "File"},
        "RoleArn": "arn:aws:iam::000000000000:role/SM",
        "OutputDataConfig": {"S3OutputPath": "s3://my-bucket/"},
        "ResourceConfig": {
            "InstanceCount": 2,
            "InstanceType": "ml.p3.8xlarge",
            "VolumeSizeInGB": 30,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
        "HyperParameters": {
            "sagemaker_program": '"train.py"',
            "sagemaker_submit_directory": '"s3://my-bucket/sourcedir.tar.gz"',
            "sagemaker_mpi_enabled": "true",
            "sagemaker_mpi_num_of_processes_per_host": "4",
            **hyperparameters,
        },
    }


def broken() -> dict[str, Any]:
    """One whose hosts know nothing of each other: an error at :data:`ALONE`."""
    return job(sagemaker_mpi_enabled="false")


def unknown() -> dict[str, Any]:
    """A CustomJob of which nothing can tell what it starts."""
    pool = {
        "machineSpec": {
            "machineType": "n1-standard-16",
            "acceleratorType": "NVIDIA_TESLA_T4",
            "acceleratorCount": 4,
        },
        "replicaCount": "1",
        "containerSpec": {"imageUri": "us-docker.pkg.dev/p/r/hvd:1", "command": ["/opt/start.sh"]},
    }
    return {"displayName": "own-start", "jobSpec": {"workerPoolSpecs": [pool]}}


@dataclass(frozen=True)
class Here:
    """A repository, and the command in it."""

    folder: Path
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def __call__(self, *words: str, stdin: str = "") -> Answer:
        """`launch check WORDS`."""
        self.capsys.readouterr()
        self.monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        try:
            code = run(["check", *words])
        except Exception as error:
            code = report(error)
        out, err = self.capsys.readouterr()
        return Answer(code, out, err)

    def write(self, name: str, content: Any) -> str:
        """A file: a text, or what becomes JSON."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content, indent=1)
        path.write_text(text, encoding="utf-8")
        return name


@pytest.fixture
def here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Here:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return Here(tmp_path, capsys, monkeypatch)


Check = Callable[..., Answer]
