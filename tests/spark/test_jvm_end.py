"""The JVM of a driver whose job has succeeded."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.spark import cluster as clusters

pytestmark = [
    pytest.mark.processes,
    pytest.mark.horovod,
    pytest.mark.timeout(2 * clusters.SECONDS),
]

BARRIER = Path(__file__).with_name("barrier.py")


def test_spark_submit_ends_after_a_barrier_stage_with_all_that_was_said(tmp_path: Path) -> None:
    # On this master Spark's own end never comes (3.5.8, 3.5.9: a timer of BarrierCoordinator).
    done = subprocess.run(
        clusters.submit_command("local[2]", {}, str(BARRIER)),
        env=clusters.environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=clusters.SECONDS,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["met [0, 1]", *(f"line {each}" for each in range(3000))]
