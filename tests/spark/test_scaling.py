"""`launch scaling spark`: its jobs one after the other, with a spark-submit whose answers are
known."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.command import Launch
from tests.spark.requests import HOROVOD, spark_in

pytestmark = pytest.mark.processes

# Trains in half the time where it has two ranks.
SUBMIT = """
import os, sys
conf = dict(word.split("=", 1) for word in sys.argv if word.startswith("spark."))
sys.path.insert(0, os.path.dirname(next(word for word in sys.argv if "spark_driver.py" in word)))
from launch_runtime import stamps
hosts = int(conf["spark.executorEnv.LAUNCH_INSTANCES"])
for epoch in (1, 2):
    rate, seconds = 50 * hosts, epoch * 4 / hosts
    print(f"[w-1/0] progress: epoch {epoch}/2, step 1/1, {rate} images/s, loss 0.5, {seconds} s")
layout = "1 host x 1 rank" if hosts == 1 else "2 hosts x 1 rank"
stamp = stamps.of(os.environ["LAUNCH_NONCE"])
print(f"[w-1/0] launch: proof: world size {hosts}: {layout}, Gloo [{stamp}]")
"""


def test_sizes_are_executors_and_their_machine_is_the_master(
    launch: Launch, tmp_path: Path
) -> None:
    home = spark_in(tmp_path / "spark", "3.5.3")
    submit = Path(home) / "bin" / "spark-submit"
    submit.write_text(f"#!{sys.executable}{SUBMIT}")
    submit.chmod(0o755)
    launch.write("train.py", HOROVOD)
    answer = launch(
        *("scaling", "spark", "train.py", "--master", "local-cluster[2,1,1024]"),
        *("--instances", "1,2", "--repeat", "1", "--proof", "init", "--json"),
        SPARK_HOME=home,
    )
    assert answer.code == 0, answer.err
    one, two = answer.json["rows"]
    assert [one["world_size"], two["world_size"]] == [1, 2]
    assert two["epoch_seconds"]["median"] == 2.0
    assert two["speed_up"]["median"] == 2.0
    assert answer.json["machine"] == "local-cluster[2,1,1024]"
    assert "one after the other" in answer.err
    assert "cores" not in answer.err, "those of this machine are not the cluster's"
    jobs = launch("list", "--json").json
    assert {job["provider"] for job in jobs} == {"spark"}
    assert {job["state"] for job in jobs} == {"succeeded"}
