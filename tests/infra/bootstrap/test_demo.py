"""`make demo` passes only with a proven job that is accurate enough."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from infra.bootstrap import demo
from tests.places import ROOT

pytestmark = pytest.mark.processes

GOOD = {
    "state": "succeeded",
    "proof": "world size 2: 2 hosts x 1 rank, Gloo",
    "result": "test accuracy 0.9722, test loss 0.1010, 8 epochs, world size 2",
    "folder": "/jobs/one",
}


@pytest.mark.parametrize(
    ("change", "good", "said"),
    [
        ({}, True, "accuracy 0.9722"),
        ({"result": "test accuracy 0.9500, test loss 0.2"}, False, "more than 0.95"),
        ({"result": "test accuracy 0.9501, test loss 0.2"}, True, "done"),
        ({"result": ""}, False, "accuracy 0.0000"),
        ({"result": None}, False, "failed"),
        ({"state": "not proven", "proof": ""}, False, "proof    none"),
    ],
)
def test_the_verdict(change: Mapping[str, str | None], good: bool, said: str) -> None:
    lines, verdict = demo.verdict({**GOOD, **change})

    assert verdict is good
    assert said in "\n".join(lines)


def test_the_end_names_proof_model_and_logs() -> None:
    text = "\n".join(demo.verdict(GOOD)[0])

    for part in ("world size 2: 2 hosts x 1 rank, Gloo", "/jobs/one/model", "/jobs/one/logs"):
        assert part in text


def clone_with_launch(folder: Path, body: str) -> Path:
    """A clone whose `launch` is a shell script, with the demo's own modules."""
    command = folder / ".venv" / "bin" / "launch"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\n{body}\n")
    command.chmod(0o755)
    (folder / "infra").symlink_to(ROOT / "infra")
    return folder


def start(clone: Path) -> subprocess.Popen[str]:
    program = (
        "import sys; from pathlib import Path; from infra.bootstrap import demo\n"
        "demo.ROOT = Path(sys.argv[1]); sys.exit(demo.main())"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program, str(clone)],
        cwd=ROOT,
        env=os.environ | {"VIRTUAL_ENV": "/another", "CONDA_PREFIX": "/another"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_job_that_fails_fails_the_demo_with_its_code(tmp_path: Path) -> None:
    said, errors = start(clone_with_launch(tmp_path, "exit 3")).communicate(timeout=60)

    assert "launch ended with exit code 3" in errors
    assert "demo: done" not in said


def test_an_active_environment_does_not_run_the_ranks(tmp_path: Path) -> None:
    body = 'test -z "$VIRTUAL_ENV$CONDA_PREFIX" || exit 9; echo "{}"'

    _, errors = start(clone_with_launch(tmp_path, body)).communicate(timeout=60)

    assert errors == ""


def test_ending_the_demo_ends_the_job(tmp_path: Path) -> None:
    body = "trap 'touch ended; exit 130' TERM; touch started; while :; do sleep 0.05; done"
    process = start(clone_with_launch(tmp_path, body))
    deadline = time.monotonic() + 60
    while not (tmp_path / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.01)

    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)

    assert process.returncode == 130
    assert (tmp_path / "ended").exists()
