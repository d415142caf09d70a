"""A small Horovod training: the digits that come with scikit-learn, one shard a rank."""

import argparse
import os

os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")  # Horovod's optimizer needs Keras 2

import horovod.tensorflow.keras as hvd
import tensorflow as tf
from sklearn.datasets import load_digits

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--lr", type=float, default=0.05)
arguments = parser.parse_args()

hvd.init()

images, labels = load_digits(return_X_y=True)
shard = slice(hvd.rank(), len(images) // hvd.size() * hvd.size(), hvd.size())
images, labels = images[shard] / 16.0, labels[shard]

model = tf.keras.Sequential(
    [tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(10)]
)
model.compile(
    optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.SGD(arguments.lr, momentum=0.9)),
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(
    images,
    labels,
    batch_size=32,
    epochs=arguments.epochs,
    callbacks=[
        hvd.callbacks.BroadcastGlobalVariablesCallback(0),
        hvd.callbacks.MetricAverageCallback(),
    ],
    verbose=2 if hvd.rank() == 0 else 0,
)
if hvd.rank() == 0:
    folder = os.environ.get("LAUNCH_MODEL_DIR", ".")
    model.save(os.path.join(folder, "model.keras"))
    print("model saved in", folder)
