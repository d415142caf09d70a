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


# The same with a worker between, which ends before its child asks again.
OUTLIVING = """
import os, subprocess, sys, time
if sys.argv[1] == "rank":
    from launch_runtime.spark.where import executor_id, executor_process
    executor, worker = executor_process(), os.getppid()
    print(executor_id(), flush=True)
    sys.stdin.read()
    while os.getppid() == worker:
        time.sleep(0.01)
    print(executor_id() == "17", executor_id(executor), flush=True)
elif sys.argv[1] == "worker":
    rank = subprocess.Popen([sys.executable, "-c", os.environ["OUTLIVING"], "rank"])
    time.sleep(600)
else:
    words = [sys.executable, "-c", os.environ["OUTLIVING"], "worker"]
    told = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    print(told.stdout.readline(), end="")
    told.kill()
    told.wait()
    told.stdin.close()
    print(told.stdout.readline(), end="")
"""


def test_an_executor_is_known_to_live_though_the_worker_between_is_gone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OUTLIVING, "executor", "--executor-id", "17"],
        env={**os.environ, "PYTHONPATH": str(ENTRYPOINTS), "OUTLIVING": OUTLIVING},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "17\nFalse 17\n"


def test_a_process_below_none_has_none() -> None:
    assert executor_id() == ""
    assert executor_id(1 << 30) == ""
