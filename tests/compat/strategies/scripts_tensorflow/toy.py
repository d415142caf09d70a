"""Small made-up data and a model for the scripts beside; nothing here is distributed."""

import numpy as np
import tensorflow as tf

BATCH = 32


def arrays(count=256):
    """Points of 8 numbers with the sign of their sum as class."""
    points = np.random.RandomState(7).randn(count, 8).astype("float32")
    return points, (points.sum(1) > 0).astype("int64")


def data(batch=BATCH):
    """Batches, forever."""
    return tf.data.Dataset.from_tensor_slices(arrays()).shuffle(256).repeat().batch(batch)


def model():
    """Two layers, with start weights of its own in every process."""
    return tf.keras.Sequential(
        [
            tf.keras.layers.Input([8]),
            tf.keras.layers.Dense(16, activation="relu"),
            tf.keras.layers.Dense(2),
        ]
    )


def losses_of(classes, outputs):
    """Cross entropy of each example."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(classes, outputs)


def train(own_model, steps=6):
    """Steps of a plain loop with a tape; nothing is exchanged here."""
    batches = iter(data())
    for _ in range(steps):
        points, classes = next(batches)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(losses_of(classes, own_model(points, training=True)))
        variables = own_model.trainable_variables
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(0.1 * gradient)
    print(f"last loss {loss:.3f}")
