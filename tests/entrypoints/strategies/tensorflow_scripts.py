"""Scripts for ranks of TensorFlow's own strategies; data made on the spot, another on each host."""

from __future__ import annotations

START = """
import json, os, signal, sys, tempfile
import numpy as np
import tensorflow as tf
worker = json.loads(os.environ.get("TF_CONFIG", '{"task": {"index": 0}}'))["task"]["index"]
random = np.random.RandomState(worker)
X = random.rand(64, 8).astype("float32")
Y = X.sum(axis=1, keepdims=True)
kept = []

def model(embeds=False):
    layers = tf.keras.layers
    if embeds:
        parts = [layers.Embedding(50, 6), layers.Flatten(), layers.Dense(1)]
    else:
        parts = [layers.Dense(4), layers.Dense(1)]
    return tf.keras.Sequential([layers.Input((8,)), *parts])
"""
HOSTS = START + "strategy = tf.distribute.MultiWorkerMirroredStrategy()\n"
DEVICES = (
    START
    + """
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
"""
)
# An own loop, as TensorFlow's guides have it: a step in each replica, inside a tf.function.
LOOP = """
def loop(change=None, compiled=True, embeds=False, by_hand=False, make=None, **apply):
    with strategy.scope():
        net = model(embeds)
        optimizer = make() if make else tf.keras.optimizers.Adam(0.01)
    kept.append((net, optimizer))  # a script keeps its model, and its evidence with it
    x = (X * 40).astype("int32") if embeds else X

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((net(x, training=True) - y) ** 2)
        gradients = tape.gradient(loss, net.trainable_variables)
        if change:
            gradients = change(gradients)
        if by_hand:
            for variable, gradient in zip(net.trainable_variables, gradients):
                variable.assign_sub(0.01 * gradient)
        else:
            optimizer.apply_gradients(zip(gradients, net.trainable_variables), **apply)
        return loss

    def outer(x, y):
        return strategy.reduce("SUM", strategy.run(step, args=(x, y)), axis=None)

    run = tf.function(outer) if compiled else outer
    for _ in range(3):
        loss = run(x, Y)
    print("trained", worker, float(loss))

def clipped(gradients):
    return [tf.clip_by_norm(gradient, 1.0) for gradient in gradients]

def summed(gradients):
    return tf.distribute.get_replica_context().all_reduce("SUM", gradients)
"""
FORMS = (
    LOOP
    + """
loop()
loop(compiled=False)
loop(change=clipped)
loop(change=summed, by_hand=True)
loop(embeds=True)
loop(make=lambda: tf.keras.optimizers.Adam(0.01, clipnorm=1.0))
"""
)
FORMS_OF_KERAS_2 = (
    FORMS
    + """
loop(change=summed, skip_gradients_aggregation=True)
loop(make=lambda: tf.keras.optimizers.legacy.SGD(0.01))
"""
)
DROPPED = """
def dropped(gradients):
    summed(gradients)
    return gradients

loop(change=dropped, make=lambda: tf.keras.optimizers.SGD(0.01), skip_gradients_aggregation=True)
"""
FIT = """
with strategy.scope():
    net = model()
    net.compile(optimizer="adam", loss="mse")
net.fit(X, Y, epochs=2, batch_size=16, verbose=0)
"""
# As TensorFlow's tutorial "Custom training loop with Keras and MultiWorkerMirroredStrategy" trains
# and saves: all take part in writing, one keeps what it wrote.
TUTORIAL = """
workers = len(json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"])

def batches(context):
    data = tf.data.Dataset.from_tensor_slices((X, Y)).repeat()
    return data.shard(context.num_input_pipelines, context.input_pipeline_id).batch(
        context.get_per_replica_batch_size(8 * workers))

with strategy.scope():
    net = model()
    net.build((None, 8))
    optimizer = tf.keras.optimizers.RMSprop(learning_rate=0.001)
    error = tf.keras.metrics.MeanSquaredError(name="error")
    data = strategy.distribute_datasets_from_function(batches)

@tf.function
def step(iterator):
    def one(inputs):
        x, y = inputs
        with tf.GradientTape() as tape:
            predicted = net(x, training=True)
            each = tf.reduce_sum((predicted - y) ** 2, axis=1)
            loss = tf.nn.compute_average_loss(each, global_batch_size=8 * workers)
        gradients = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(gradients, net.trainable_variables))
        error.update_state(y, predicted)
        return loss
    losses = strategy.run(one, args=(next(iterator),))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

epoch = tf.Variable(0, dtype=tf.int64, name="epoch")
task = strategy.cluster_resolver.task_type, strategy.cluster_resolver.task_id
own = os.environ["LAUNCH_CHECKPOINT_DIR"] if task == ("worker", 0) else tempfile.mkdtemp()
checkpoint = tf.train.Checkpoint(model=net, epoch=epoch)
manager = tf.train.CheckpointManager(checkpoint, directory=own, max_to_keep=1)
for number in range(2):
    iterator = iter(data)
    for _ in range(3):
        loss = step(iterator)
    epoch.assign_add(1)
    saved = manager.save()
    print("epoch", number, float(error.result()) > 0)
    error.reset_state()
print("saved", task[1], len(tf.train.list_variables(saved)) > 3)
kept.append((net, optimizer))
"""
FIT_OUTSIDE = """
net = model()
net.compile(optimizer="adam", loss="mse")
net.fit(X, Y, epochs=1, batch_size=16, verbose=0)
print("trained", worker)
"""
# What ends in the midst of training, and how.
LOST = """
with strategy.scope():
    value = tf.Variable([1.0, 2.0])

@tf.function
def step():
    def one():
        total = tf.distribute.get_replica_context().all_reduce("SUM", tf.ones([2]))
        value.assign_sub(0.1 * total)
    strategy.run(one)

for number in range(1_000_000):
    if number == 5 and worker == 1:
        print("leaving", flush=True)
        leave()
    step()
"""
