"""What the guard costs a training: steps a second and start-up on two ranks, with the guard under
`launch local` and without it under a bare horovodrun, in turn."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.measure import median, print_table, quiet_environment, with_spread
from tests.places import ROOT

LOOPS = {
    "fit": "Keras fit",
    "function": "tf.function with a tape",
    "eager": "eager with a tape",
}
MOMENTS = {
    "started": "from the command to the script's first line",
    "joined": "from there to the end of hvd.init()",
    "ended": "from the script's last line to the command's end",
}
# 100,000 parameters in 6 variables: a step of a few milliseconds, in which any cost would show.
_SCRIPT = """\
import time
moments = {"started": time.time()}
import json, os, statistics
import tensorflow as tf
import horovod.tensorflow.keras as hvd_keras
import horovod.tensorflow as hvd
hvd.init()
moments["joined"] = time.time()
tf.config.threading.set_intra_op_parallelism_threads(1)
x, y = tf.random.normal([32, 64]), tf.random.uniform([32], 0, 10, tf.int64)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def model():
    layers = [tf.keras.layers.Dense(width, activation="relu") for width in (256, 256)]
    made = tf.keras.Sequential([tf.keras.Input([64]), *layers, tf.keras.layers.Dense(10)])
    hvd.broadcast_variables(made.variables, root_rank=0)
    return made


def by_fit(steps, blocks):
    times = []

    class Clock(tf.keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            self.begin = time.perf_counter()

        def on_epoch_end(self, epoch, logs=None):
            times.append(time.perf_counter() - self.begin)

    made = model()
    made.compile(hvd_keras.DistributedOptimizer(tf.keras.optimizers.SGD(0.01)), loss_of)
    data = tf.data.Dataset.from_tensors((x, y)).repeat()
    made.fit(data, steps_per_epoch=steps, epochs=blocks, verbose=0, callbacks=[Clock()])
    return times


def by_loop(steps, blocks, wrap):
    made, optimizer = model(), tf.keras.optimizers.SGD(0.01)

    @wrap
    def step():
        with tf.GradientTape() as tape:
            loss = loss_of(y, made(x, training=True))
        tape = hvd.DistributedGradientTape(tape)
        gradients = tape.gradient(loss, made.trainable_variables)
        optimizer.apply_gradients(zip(gradients, made.trainable_variables))

    times = []
    for _ in range(blocks):
        begin = time.perf_counter()
        for _ in range(steps):
            step()
        times.append(time.perf_counter() - begin)
    return times


def rate(steps, times):
    return steps / statistics.median(times[1:])


rates = {
    "fit": rate(50, by_fit(50, 7)),
    "function": rate(50, by_loop(50, 7, tf.function)),
    "eager": rate(20, by_loop(20, 7, lambda step: step)),
}
if hvd.rank() == 0:
    moments["ended"] = time.time()
    with open(os.environ["FIGURES"], "w") as file:
        json.dump({"rates": rates, "moments": moments}, file)
"""


def run(runs: int) -> None:
    """Print both tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "steps.py").write_text(_SCRIPT)
        with_guard, without = [], []
        for index in range(runs):
            with_guard.append(_measure(folder, f"launch{index}", _by_launch()))
            without.append(_measure(folder, f"bare{index}", _by_horovodrun()))
    _print_rates(with_guard, without, runs)
    _print_moments(with_guard, without, runs)


def _by_launch() -> list[str]:
    words = [sys.executable, "-m", "launchers.cli.main", "local", "steps.py", "--no-file"]
    return [*words, "--instances", "2", "--processes", "1"]


def _by_horovodrun() -> list[str]:
    horovodrun = shutil.which("horovodrun", path=os.path.dirname(sys.executable))
    assert horovodrun, "horovodrun is not beside this Python"
    return [horovodrun, "--gloo", "-np", "2", "-H", "localhost:2", sys.executable, "steps.py"]


def _measure(folder: Path, name: str, command: list[str]) -> dict[str, float]:
    """Loop -> steps a second, and moment -> seconds that passed up to it."""
    figures = folder / f"{name}.json"
    environment = quiet_environment(
        LAUNCH_HOME=str(folder / name),
        PYTHONPATH=str(ROOT),
        PYTHONUNBUFFERED="1",
        TF_USE_LEGACY_KERAS="1",
        CUDA_VISIBLE_DEVICES="",
        FIGURES=str(figures),
        PATH=os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]),
    )
    begin = time.time()
    subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    end = time.time()
    found = json.loads(figures.read_text())
    moments = found["moments"]
    return {
        **found["rates"],
        "started": moments["started"] - begin,
        "joined": moments["joined"] - moments["started"],
        "ended": end - moments["ended"],
    }


def _print_rates(
    with_guard: list[dict[str, float]], without: list[dict[str, float]], runs: int
) -> None:
    rows = []
    for loop, title in LOOPS.items():
        ours, theirs = [one[loop] for one in with_guard], [one[loop] for one in without]
        ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
        rows.append(
            [
                title,
                f"{median(ours):,.0f}",
                f"{median(theirs):,.0f}",
                with_spread(ratios),
            ]
        )
    print_table(
        f"Steps a second on 2 ranks, 100,000 parameters, median of {runs} runs in turn",
        ["loop", "launch local", "horovodrun", "ratio"],
        rows,
    )


def _print_moments(
    with_guard: list[dict[str, float]], without: list[dict[str, float]], runs: int
) -> None:
    rows = [
        [
            title,
            f"{median([one[moment] for one in with_guard]):.2f}",
            f"{median([one[moment] for one in without]):.2f}",
        ]
        for moment, title in MOMENTS.items()
    ]
    print_table(
        f"The same jobs' start and end, wall s, median of {runs} runs",
        ["what", "launch local", "horovodrun"],
        rows,
    )
