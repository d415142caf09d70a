"""A built wheel in a bare virtual environment, outside any clone: what a stranger's first hour has
before any training stack."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from infra.bootstrap import locks
from tests.fakes.sagemaker_service import SageMakerService
from tests.infra.bootstrap.wheels import built_wheel
from tests.places import ROOT

pytestmark = [pytest.mark.processes, pytest.mark.pip_network]

TRAIN = "import horovod.tensorflow.keras as hvd\n\nhvd.init()\n"
JOB = ("train.py", "--instances", "2", "--gpus", "4")
# None of what this test's own process is set up with.
OURS = ("LAUNCH_", "AWS_", "GOOGLE_", "CLOUDSDK_", "PYTHON", "VIRTUAL_ENV")


@dataclass(frozen=True)
class Bare:
    """A virtual environment and an empty folder beside it."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "environment" / "bin" / "python"

    def install(self, *words: str) -> None:
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "install", "--quiet"]
        options = ("--disable-pip-version-check", "--no-input")
        done = subprocess.run([*pip, *options, *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def install_locked(self, group: str) -> None:
        self.install("--require-hashes", "--no-deps", "-r", str(locks.file_of(ROOT, group)))

    def __call__(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        return subprocess.run(
            [str(self.python.with_name("launch")), *words],
            cwd=self.folder,
            env={**kept, "LAUNCH_HOME": str(self.folder / "home"), **variables},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=120,
        )


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Bare:
    found = Bare(tmp_path_factory.mktemp("bare"))
    built = built_wheel(found.folder)
    venv = [sys.executable, "-m", "venv", "--without-pip", str(found.folder / "environment")]
    subprocess.run(venv, check=True)
    found.install_locked(locks.LAUNCHER)
    found.install("--no-deps", "--no-index", str(built))
    (found.folder / "train.py").write_text(TRAIN)
    return found


@pytest.mark.parametrize(
    "words",
    [
        ("sagemaker", *JOB, "--dry-run"),
        ("vertex", *JOB, "--image", "gcr.io/project/image:1", "--dry-run"),
        ("machines", "--gpus", "4"),
        ("explain", "sdk-version"),
        ("schema",),
        ("--version",),
    ],
    ids=lambda words: words[0],
)
def test_what_needs_no_service_needs_no_sdk(words: tuple[str, ...], bare: Bare) -> None:
    ended = bare(*words)

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout


def test_the_second_command_is_the_same(bare: Bare) -> None:
    second = bare.python.with_name("launch-training")
    said = subprocess.run([str(second), "--version"], capture_output=True, text=True, check=True)
    assert said.stdout == bare("--version").stdout


def test_a_printed_request_passes_the_check(bare: Bare) -> None:
    document = bare("sagemaker", *JOB, "--dry-run").stdout
    (bare.folder / "job.json").write_text(document)

    ended = bare("check", "job.json", "--world-size", "8", "--json")

    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["world_size"] == 8


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("sagemaker", *JOB, "--role", "arn:aws:iam::111122223333:role/one"), "aws"),
        (("logs", "sagemaker:somebodys", "--region", "us-east-1"), "aws"),
        (("status", "vertex:1", "--region", "us-central1"), "gcp"),
    ],
)
def test_what_asks_a_service_names_the_extra_to_install(
    words: tuple[str, ...], extra: str, bare: Bare
) -> None:
    ended = bare(*words)

    assert ended.returncode == 3
    assert f"'launch-training[{extra}]'" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_with_the_extra_a_job_is_submitted_without_tensorflow(bare: Bare) -> None:
    bare.install_locked(locks.AWS)
    with SageMakerService() as service:
        account = ("--role", service.role_arn, "--bucket", service.bucket)

        ended = bare("sagemaker", *JOB, *account, "--detach", **service.environment())

        assert ended.returncode == 0, ended.stderr
        assert len(service.received("CreateTrainingJob")) == 1
    without = "import importlib.util as u; print(u.find_spec('tensorflow'), u.find_spec('google'))"
    said = subprocess.run([str(bare.python), "-c", without], capture_output=True, text=True)
    assert said.stdout.split() == ["None", "None"]
