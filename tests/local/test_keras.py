"""Keras and Horovod together, on real ranks: Keras 2 as tf_keras, and Keras 3 with its limits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from launch_runtime.rank import keras_refusals

from tests.cli.command import Launch
from tests.places import ENTRYPOINTS

TWO = ("--instances", "2", "--processes", "1")
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3"}
PROOF = "world size 2: 2 hosts x 1 rank, Gloo"


def test_what_init_writes_runs(launch: Launch):
    assert launch("init").code == 0
    answer = launch("local", **QUIET)
    assert answer.code == 0, answer.out + answer.err
    assert PROOF in answer.out + answer.err
    assert "launch: keras is tf_keras 2.18 for this script and Horovod" in answer.out
    assert "launch: model.keras was saved by Keras 2 (tf_keras 2.18.0), as .keras" in answer.out


# The way Horovod's own Keras example goes: all four callbacks, on the package keras itself.
FOUR_CALLBACKS = """
import sys
import keras
import numpy as np
from keras import backend as K
from keras.layers import Dense
import horovod.keras as hvd

hvd.init()
import tensorflow as tf
from tensorflow.keras.layers import Dense as TensorFlowsDense
assert Dense is TensorFlowsDense is tf.keras.layers.Dense is keras.src.layers.Dense

random = np.random.RandomState(hvd.rank())
model = keras.models.Sequential([Dense(8, activation="relu", input_shape=(4,)), Dense(2)])
model.compile(
    optimizer=hvd.DistributedOptimizer(keras.optimizers.Adam(0.01 * hvd.size())),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(
    random.rand(64, 4), random.randint(0, 2, 64), batch_size=16, epochs=3, verbose=0,
    callbacks=[
        hvd.callbacks.BroadcastGlobalVariablesCallback(0),
        hvd.callbacks.MetricAverageCallback(),
        hvd.callbacks.LearningRateWarmupCallback(initial_lr=0.02, warmup_epochs=2),
        hvd.callbacks.LearningRateScheduleCallback(initial_lr=0.02, start_epoch=2, multiplier=lambda epoch: 0.5),
    ],
)
weights = hvd.allgather(np.concatenate([np.ravel(w) for w in model.get_weights()])[None])
print("equal", bool(np.allclose(weights[0], weights[1])), "rate", round(float(K.get_value(model.optimizer.lr)), 4))
"""  # noqa: E501


def test_a_script_in_the_style_of_horovods_keras_example_trains_together(launch: Launch):
    launch.write("train.py", FOUR_CALLBACKS)
    answer = launch("local", "train.py", *TWO, **QUIET)
    assert answer.code == 0, answer.out + answer.err
    assert answer.out.count("equal True rate 0.01") == 2


BOTH_WAYS = """
import keras
import numpy as np
import tensorflow as tf
from keras import ops
import horovod.tensorflow as hvd

hvd.init()
keras.utils.set_random_seed(hvd.rank())
inputs = np.random.rand(32, 4).astype("float32")
targets = ops.sum(inputs, axis=1, keepdims=True) + hvd.rank()
base_rate, warmup_epochs, loss = 0.01, 2, "mse"

def build():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    return model

def equal(model):
    rows = [hvd.allgather(tf.reshape(v.value, (1, -1))) for v in model.trainable_variables]
    return all(np.allclose(row[0], row[1]) for row in rows)

model = build()
{optimizer}
{broadcast}
{metrics}
warmup = {rate}
history = model.fit(inputs, targets, epochs=2, verbose=0, callbacks=[Average(), warmup])
losses = hvd.allgather(tf.constant([history.history["loss"]]))
print("fit", equal(model), bool(np.allclose(losses[0], losses[1])))

model, optimizer = build(), keras.optimizers.SGD(0.1)
{broadcast}
with tf.GradientTape() as tape:
    loss = tf.reduce_mean((model(inputs) - targets) ** 2)
{tape}
print("loop", equal(model))
"""


def test_the_lines_that_a_refusal_shows_train_together_on_keras_3(launch: Launch):
    parts = {
        name: "\n".join(getattr(keras_refusals, f"_{name.upper()}"))
        for name in ("optimizer", "broadcast", "metrics", "rate", "tape")
    }
    launch.write("train.py", BOTH_WAYS.format(**parts))
    answer = launch("local", "train.py", *TWO, **QUIET)
    assert answer.code == 0, answer.out + answer.err
    assert answer.out.count("fit True True") == 2
    assert answer.out.count("loop True") == 2
    assert "keras is tf_keras" not in answer.out


WRAPPED = """
import horovod.tensorflow.keras as hvd
import keras

hvd.init()
optimizer = hvd.DistributedOptimizer(keras.optimizers.SGD(0.1))
print("went on", flush=True)
"""


def test_horovods_wrapper_on_keras_3_ends_the_job_before_its_first_step(launch: Launch):
    launch.write("train.py", WRAPPED)
    answer = launch("local", "train.py", *TWO, "--keras", "3", **QUIET)
    said = answer.out + answer.err
    assert answer.code == 1, said
    assert "went on" not in said
    assert "warning: train.py:6: DistributedOptimizer of Horovod with Keras 3" in said
    assert "found hvd.DistributedOptimizer around SGD of Keras 3." in said
    assert "launch: fix: --keras 2 runs the script on Keras 2" in said
    for line in keras_refusals._OPTIMIZER:
        assert f"launch:     {line}\n" in said


# Everything else of Horovod that cannot be right on Keras 3, in one process.
EVERYTHING = """
import sys
sys.path.insert(0, sys.argv[1])
from launch_runtime.rank import keras_refusals

class Refused(BaseException):
    pass

def refuse(refusal):
    raise Refused(refusal.found)

keras_refusals.install(refuse)
import keras
import tensorflow as tf
import horovod.keras
import horovod.tensorflow as hvd
import horovod.tensorflow.keras as hk
hvd.init()
model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
with tf.GradientTape(persistent=True) as tape:
    loss = tf.reduce_sum(model(tf.ones((1, 2))))
    plain = tf.Variable(1.0)
    other = plain * 2
ways = {
    "horovod.keras": lambda: horovod.keras.DistributedOptimizer(keras.optimizers.Adam()),
    "horovod.tensorflow": lambda: hvd.DistributedOptimizer(keras.optimizers.Adam()),
    "partial": lambda: horovod.keras.PartialDistributedOptimizer(keras.optimizers.Adam()),
    "load_model": lambda: hk.load_model("model.keras"),
    "tape": lambda: hvd.DistributedGradientTape(tape).gradient(loss, model.trainable_variables),
    "broadcast": lambda: hvd.broadcast_variables(model.variables, 0),
    "BroadcastGlobalVariablesCallback": lambda: hk.callbacks.BroadcastGlobalVariablesCallback(0),
    "MetricAverageCallback": lambda: horovod.keras.callbacks.MetricAverageCallback(),
    "LearningRateWarmupCallback": lambda: hk.callbacks.LearningRateWarmupCallback(0.1),
    "LearningRateScheduleCallback": lambda: hk.callbacks.LearningRateScheduleCallback(0.1, 1),
    "state": lambda: hk.elastic.KerasState(model),
}
for name, way in ways.items():
    try:
        way()
    except Refused:
        continue
    print("not refused:", name)
# What is TensorFlow's own goes on.
print(hvd.DistributedGradientTape(tape).gradient(other, [plain])[0].numpy())
hvd.broadcast_variables([v.value for v in model.variables], 0)
"""


@pytest.mark.processes
def test_all_of_horovods_keras_parts_are_refused_on_keras_3(tmp_path: Path):
    script = tmp_path / "everything.py"
    script.write_text(EVERYTHING, encoding="utf-8")
    answer = subprocess.run(
        [sys.executable, str(script), str(ENTRYPOINTS)],
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **QUIET},
        capture_output=True, text=True, timeout=240, cwd=tmp_path, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split() == ["2.0"], answer.stdout


@pytest.mark.parametrize("word", ["keras: 2", "keras: '2'"])
def test_the_choice_is_a_key_of_launch_yaml(launch: Launch, word: str):
    launch.write("train.py", "import keras\n")
    launch.write("launch.yaml", f"script: train.py\n{word}\n")
    answer = launch("local", "--dry-run")
    assert answer.code == 0, answer.err
    assert answer.json["environment"]["LAUNCH_KERAS"] == "2"
    assert "keras        Keras 2: keras is tf_keras 2.18" in answer.err
