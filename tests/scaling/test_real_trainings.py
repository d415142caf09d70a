"""`launch scaling local` of the shared scripts: real ranks and replicas, whose figures it reads."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.command import Launch
from tests.places import ENTRYPOINTS

pytestmark = pytest.mark.horovod

SMALL = ("--data", "digits", "--model", "mlp", "--epochs", "2", "--limit", "512", "--validate")


def rows_of(launch: Launch, script: str, *words: str, **environment: str) -> list[dict[str, Any]]:
    answer = launch(
        *("scaling", "local", str(ENTRYPOINTS / script), "--repeat", "1", "--json", *words),
        *("--", *SMALL),
        **environment,
    )
    assert answer.code == 0, answer.err
    rows: list[dict[str, Any]] = answer.json["rows"]
    for row in rows:
        (run,) = row["runs"]
        assert run["state"] == "succeeded"
        assert [epoch["number"] for epoch in run["epochs"]] == [1, 2]
        for figure in ("epoch_seconds", "images_per_second", "validation_accuracy"):
            assert row[figure]["count"] == 1, (figure, row)
    return rows


def test_one_process_is_compared_on_one_device_and_on_two(launch: Launch):
    """No GPU is here: TensorFlow's logical CPU devices stand for those that are named."""
    words = ("--gpus", "1,2", "--strategy", "tensorflow")
    one, two = rows_of(launch, "train_mirrored.py", *words, CUDA_VISIBLE_DEVICES="0,1")
    assert [(row["world_size"], row["gpus"]) for row in (one, two)] == [(1, 1), (2, 2)]
    assert two["speed_up"]["count"] == 1


def test_gradients_every_step_are_compared_with_parameters_every_epoch(launch: Launch):
    words = ("--processes", "2", "--compare", "sync=allreduce,average:epoch")
    every, averaged = rows_of(launch, "train_custom_loop.py", *words)
    assert [row["variant"] for row in (every, averaged)] == [
        {"sync": "allreduce"},
        {"sync": "average:epoch"},
    ]
    proofs = [row["runs"][0]["job"] for row in (every, averaged)]
    told = [launch("status", job, "--json").json["proof"] for job in proofs]
    assert "gradients exchanged" in told[0]
    assert "parameters exchanged" in told[1]
