"""Which executor a process belongs to."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from launch_runtime.spark.where import executor_id

from tests.places import ENTRYPOINTS

pytestmark = pytest.mark.processes

# A program with an executor's command line, whose child asks.
ASKING = (
    "import subprocess, sys; subprocess.run([sys.executable, '-c', "
    "'from launch_runtime.spark.where import executor_id; print(executor_id())'])"
)


def test_a_process_below_an_executor_finds_its_id() -> None:
    command = [sys.executable, "-c", ASKING, "--executor-id", "17", "--cores", "1"]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(ENTRYPOINTS)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "17\n"


def test_a_process_below_none_has_none() -> None:
    assert executor_id() == ""
    assert executor_id(1 << 30) == ""
