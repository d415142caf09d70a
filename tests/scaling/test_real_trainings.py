"""`launch scaling local` of the shared scripts: real ranks and replicas, whose figures it reads."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.command import Launch
from tests.places import ENTRYPOINTS

pytestmark = pytest.mark.horovod

# Either of two ways to train together, as LAUNCH_STRATEGY says: the launcher sets it for all but
# Horovod.
TWO_WAYS = """
import json, os, time
import numpy as np
import tensorflow as tf
images = np.random.RandomState(1).rand(256, 8).astype("float32")
labels = images.sum(axis=1, keepdims=True)

class Told(tf.keras.callbacks.Callback):
    seconds = 0.0
    def on_epoch_begin(self, epoch, logs=None):
        self.begun = time.monotonic()
    def on_epoch_end(self, epoch, logs):
        took = time.monotonic() - self.begun
        self.seconds += took
        print(f"progress: epoch {epoch + 1}/2, step 8/8, {256 / took:.0f} images/s, "
              f"loss {logs['loss']:.4f}, {self.seconds:.2f} s", flush=True)

def made(optimizer):
    layers = [tf.keras.layers.Input((8,)), tf.keras.layers.Dense(1)]
    model = tf.keras.Sequential(layers)
    model.compile(optimizer, "mse")
    return model

calls = []
if os.environ.get("LAUNCH_STRATEGY") == "tensorflow":
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    rank = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
    with strategy.scope():
        model = made(tf.keras.optimizers.SGD(0.01))
else:
    import horovod.tensorflow.keras as hvd
    hvd.init()
    rank = hvd.rank()
    model = made(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01)))
    calls = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
model.fit(images, labels, batch_size=32, epochs=2, verbose=0,
          callbacks=calls + ([Told()] if rank == 0 else []))
"""
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


def test_one_script_is_compared_by_two_strategies(launch: Launch):
    launch.write("train.py", TWO_WAYS)
    answer = launch(
        *("scaling", "local", "train.py", "--instances", "2", "--repeat", "1", "--json"),
        *("--compare", "strategy=horovod,tensorflow"),
        TF_CPP_MIN_LOG_LEVEL="3",
    )
    assert answer.code == 0, answer.err
    rows = answer.json["rows"]
    assert [row["variant"] for row in rows] == [
        {"strategy": "horovod"},
        {"strategy": "tensorflow"},
    ]
    proofs = []
    for row in rows:
        (run,) = row["runs"]
        assert (run["state"], row["world_size"]) == ("succeeded", 2)
        assert row["images_per_second"]["count"] == 1
        proofs.append(launch("status", run["job"], "--json").json["proof"])
    assert "Gloo; gradients exchanged, weights equal" in proofs[0]
    assert "gRPC; gradients exchanged, weights equal" in proofs[1]
