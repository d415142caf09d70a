"""`launch spark` beside a bare ``horovod.spark.run`` of the same script on the same standalone
cluster, and beside `launch local`: two ranks of one core each, in turn."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.benchmarks.measure import cost_of, median, print_table, quiet_environment
from tests.places import ROOT
from tests.spark import cluster as clusters

# 100,000 parameters in 6 variables, as in steps.py: a step of a few milliseconds.
_SCRIPT = """\
import time
moments = {"started": time.time()}
import json, os, statistics
import tensorflow as tf
import horovod.tensorflow as hvd
hvd.init()
moments["joined"] = time.time()
tf.config.threading.set_intra_op_parallelism_threads(1)
x, y = tf.random.normal([32, 64]), tf.random.uniform([32], 0, 10, tf.int64)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
layers = [tf.keras.layers.Dense(width, activation="relu") for width in (256, 256)]
model = tf.keras.Sequential([tf.keras.Input([64]), *layers, tf.keras.layers.Dense(10)])
hvd.broadcast_variables(model.variables, root_rank=0)
optimizer = tf.keras.optimizers.SGD(0.01)


@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x, training=True))
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


step()
moments["stepped"] = time.time()
times = []
for _ in range(7):
    begin = time.perf_counter()
    for _ in range(50):
        step()
    times.append(time.perf_counter() - begin)
if hvd.rank() == 0:
    moments["ended"] = time.time()
    with open(os.environ["FIGURES"], "w") as file:
        json.dump({"rate": 50 / statistics.median(times[1:]), "moments": moments}, file)
"""
# What somebody writes without a launcher.
_BARE = """\
import os, runpy, sys
import horovod.spark
from pyspark.sql import SparkSession

script, figures = sys.argv[1:]
session = SparkSession.builder.getOrCreate()


def train():
    os.environ["FIGURES"] = figures
    runpy.run_path(script)


horovod.spark.run(train, num_proc=2, executable=sys.executable, env=dict(os.environ))
session.stop()
"""
FIGURES = {
    "first step, s": "from the command to the end of the first step",
    "steps/s": "50 steps a block, the median of 6 blocks",
    "end, s": "from the script's last line to the command's end",
}
_ON_SPARK, _BY_HAND, _HERE = "launch spark", "horovod.spark.run", "launch local"
_SLOTS = {
    "spark.cores.max": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.pyspark.python": sys.executable,
}
# The workers' own python3 need not be this one.
_WORKERS = ("--worker-python", sys.executable)


def run(runs: int) -> None:
    """Print the table. Blocks for minutes."""
    found: dict[str, list[dict[str, float]]] = {_ON_SPARK: [], _BY_HAND: [], _HERE: []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Apart from what the runs leave, which would travel with the next ones.
        source = folder / "source"
        source.mkdir()
        (source / "steps.py").write_text(_SCRIPT)
        (source / "bare.py").write_text(_BARE)
        with clusters.running(folder / "cluster") as cluster:
            for index in range(runs + 1):
                for label, kept in found.items():
                    place = folder / f"{index}-{label.replace(' ', '-')}"
                    figures = _measured(source, place, _command(label, cluster.url, source, place))
                    if index:  # the first fills the caches
                        kept.append(figures)
    _print(found, runs)


def _command(label: str, master: str, source: Path, place: Path) -> list[str]:
    figures = f"{place}.json"
    if label == _BY_HAND:
        program, script = str(source / "bare.py"), str(source / "steps.py")
        return clusters.submit_command(master, _SLOTS, program, script, figures)
    launch = [sys.executable, "-m", "launchers.cli.main"]
    same = ["--no-file", "--instances", "2", "--processes", "1", "--env", f"FIGURES={figures}"]
    if label == _HERE:
        return [*launch, "local", "steps.py", *same]
    conf = clusters.conf_words(clusters.CONF)
    return [*launch, "spark", "steps.py", "--master", master, *same, *conf, *_WORKERS]


def _measured(source: Path, place: Path, command: Sequence[str]) -> dict[str, float]:
    """Column -> figure of one run."""
    environment = quiet_environment(
        **clusters.environment(),
        LAUNCH_HOME=str(place),
        PYTHONPATH=str(ROOT),
        TF_USE_LEGACY_KERAS="1",
        CUDA_VISIBLE_DEVICES="",
    )
    begin = time.time()
    cost = cost_of(command, source, environment)
    end = begin + cost.wall
    found = json.loads(Path(f"{place}.json").read_text())
    moments = found["moments"]
    return {
        "first step, s": moments["stepped"] - begin,
        "steps/s": found["rate"],
        "end, s": end - moments["ended"],
    }


def _print(found: Mapping[str, Sequence[Mapping[str, float]]], runs: int) -> None:
    rows = []
    for column, what in FIGURES.items():
        digits = 0 if column == "steps/s" else 2
        cells = [f"{median([one[column] for one in each]):.{digits}f}" for each in found.values()]
        rows.append([column, what, *cells])
    print_table(
        f"Two ranks on two one-core workers, 100,000 parameters, medians of {runs} runs in turn",
        ["figure", "what", *found],
        rows,
    )
