"""Jobs on Spark in containers: a driver, a master, a worker for each executor."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from launchers.image.names import repository
from launchers.rehearsal.engine.labels import JOB
from tests.cli.command import Launch
from tests.keras_2 import KERAS_2
from tests.rehearsal.conftest import our_image

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("spark-containers"),
]

MASTER = "spark://cluster.example:7077"
# Rank 1 fails where it is asked to.
TRAIN = (
    KERAS_2
    + """\
import sys
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
total = hvd.allreduce(tf.constant([1.0]), op=hvd.Sum, name="step")
if hvd.rank() == 1 and sys.argv[1:] == ["fail"]:
    raise ValueError("no labels in shard 3")
print(f"sum {float(total[0]):.0f} of {hvd.size()}")
"""
)


@pytest.fixture(scope="module", autouse=True)
def spark_image(client: Any) -> str:
    """Our image with Java and PySpark over Horovod's."""
    return our_image(client, repository("spark"), "launch image build --with spark")


def parts_of(client: Any, name: str) -> list[str]:
    """Names of the containers, networks and volumes of rehearsals of jobs of that name."""
    api, label = client.api, {"label": JOB}
    found = (
        *((one["Names"][0].lstrip("/"), one) for one in api.containers(all=True, filters=label)),
        *((one["Name"], one) for one in api.networks(filters=label)),
        *((one["Name"], one) for one in api.volumes(filters=label)["Volumes"] or ()),
    )
    return [text for text, one in found if one["Labels"][JOB].startswith(f"{name}-")]


def test_ranks_on_two_workers_are_proven_by_the_document_that_is_printed(
    launch: Launch, client: Any, spark_image: str
) -> None:
    launch.write("train.py", TRAIN)
    asked = ("spark", "train.py", "--master", MASTER, "--instances", "2", "--name", "proven")
    printed = launch(*asked, "--dry-run")
    answer = launch(*asked, "--dry-run=docker", "--json")
    assert answer.code == 0, answer.err
    result = answer.json
    assert result["proof"].startswith("world size 2: 2 hosts x 1 rank, Gloo")
    assert Path(result["folder"], "document.json").read_text() == printed.out
    assert {f"[worker-{number}/{rank}] sum 2 of 2" for number in (1, 2) for rank in (0, 1)} >= {
        line for line in answer.err.splitlines() if "sum 2" in line
    }
    assert answer.err.count("] sum 2 of 2") == 2
    assert f"image {spark_image} (ours): the document names none" in result["deviations"]
    assert any(text.endswith(f"instead of {MASTER}") for text in result["deviations"])
    assert "[master] workers register" in answer.err
    assert " INFO " not in answer.err
    assert parts_of(client, "proven") == []


def test_a_printed_document_is_rehearsed_and_its_failing_rank_is_shown_as_everywhere(
    launch: Launch, client: Any
) -> None:
    launch.write("train.py", TRAIN)
    words = ("--master", "local[2]", "--processes", "2", "--name", "failing", "--dry-run")
    launch.write("job.json", launch("spark", "train.py", *words, "--", "fail").out)
    answer = launch("rehearse", "job.json", "--source", ".", "--json")
    assert (answer.code, answer.json["state"]) == (1, "failed"), answer.err
    reason = answer.json["reason"]
    assert reason.startswith("driver ended with code 1: rank 1 on driver failed first: "), reason
    assert "ValueError: no labels in shard 3" in reason
    assert answer.err.count("Traceback (most recent call last)") == 1
    assert parts_of(client, "failing") == []


def test_an_interrupted_rehearsal_leaves_no_part_of_its_cluster(
    launch: Launch, client: Any
) -> None:
    launch.write("train.py", TRAIN)
    words = ("--master", MASTER, "--instances", "2", "--name", "halted", "--dry-run=docker")
    process = launch.start("spark", "train.py", *words)
    assert process.stdout is not None
    try:
        assert any("workers register" in line for line in process.stdout)
        assert len(parts_of(client, "halted")) == 6, "four containers, a network, a volume"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=150)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, err
    assert "nothing of the rehearsal is left" in err
    assert parts_of(client, "halted") == []
