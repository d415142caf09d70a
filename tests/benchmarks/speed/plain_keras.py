"""Keras alone, as a person would write it: no Horovod, no launcher, nothing of ours.

The same model, pictures and optimizer as train_image_classifier.py has. Of each epoch its images a
second and the seconds of its steps go into the JSON file that --metrics names.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

layers = tf.keras.layers


def body(name: str, shape: tuple[int, ...]) -> list[Any]:
    """From stored pixels to the head."""
    if name == "resnet50":
        net = tf.keras.applications.ResNet50
        scaled = layers.Rescaling(1 / 127.5, offset=-1)
        return [scaled, net(weights=None, include_top=False, pooling="avg", input_shape=shape)]
    if name == "efficientnetb0":
        net = tf.keras.applications.EfficientNetB0
        return [net(weights=None, include_top=False, pooling="avg", input_shape=shape)]
    blocks: list[Any] = []
    for filters in (32, 64):
        blocks.append(layers.Conv2D(filters, 3, padding="same", activation="relu"))
        blocks.append(layers.MaxPooling2D())
    dense = layers.Dense(128, activation="relu")
    return [layers.Rescaling(1 / 255), *blocks, layers.Flatten(), dense]


class Clock(tf.keras.callbacks.Callback):  # type: ignore[misc]
    """Images a second of each epoch, and its steps."""

    def __init__(self, images: int):
        super().__init__()
        self.images, self.begin, self.last = images, 0.0, 0.0
        self.steps: list[float] = []
        self.history: list[dict[str, Any]] = []

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.begin = self.last = time.perf_counter()
        self.steps = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        now = time.perf_counter()
        self.steps.append(now - self.last)
        self.last = now

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        rate = self.images / (time.perf_counter() - self.begin)
        one = {"epoch": epoch + 1, "images_per_second": rate, "step_seconds": self.steps}
        self.history.append(one)


def main() -> None:
    """Train."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--metrics", type=Path, required=True)
    parser.add_argument("--model", required=True)
    for name in ("side", "batch", "epochs"):
        parser.add_argument(f"--{name}", type=int, required=True)
    asked = parser.parse_args()
    with gzip.open(asked.data / "train-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28, 1)
    with gzip.open(asked.data / "train-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    if asked.side != images.shape[1]:
        images = tf.image.resize(images, (asked.side, asked.side)).numpy()
    found = body(asked.model, images.shape[1:])
    head = layers.Dense(10, activation="softmax")
    model = tf.keras.Sequential([layers.InputLayer(images.shape[1:]), *found, head])
    # The shared scripts' class of optimizer: every Horovod release knows it.
    adam = tf.keras.optimizers.legacy.Adam(0.001)
    model.compile(adam, "sparse_categorical_crossentropy", metrics=["accuracy"])
    clock = Clock(len(images))
    fit = {"batch_size": asked.batch, "epochs": asked.epochs, "verbose": 2}
    model.fit(images, labels, callbacks=[clock], **fit)
    asked.metrics.write_text(json.dumps({"history": clock.history}))


if __name__ == "__main__":
    main()
