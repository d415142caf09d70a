"""What decoding to scale changes: pixels, and the accuracy of a small CNN trained on either, with
the same seeds; tested on pictures decoded whole, a fifth that no training sees."""

from __future__ import annotations

import argparse
import json

import numpy as np
import tensorflow as tf
from lib.data.division import Division
from lib.data.parquet_place import open_place
from lib.data.reader import PictureReader
from lib.data.tensorflow import picture_batches


def main() -> None:
    """Say one JSON line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("place")
    parser.add_argument("--side", type=int, default=32)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=6)
    asked = parser.parse_args()
    pictures = open_place(asked.place, split="train")
    whole, labels = _all(pictures, asked.side, scaled=False)
    scaled, _ = _all(pictures, asked.side, scaled=True)
    difference = np.abs(whole.astype(np.int16) - scaled.astype(np.int16))
    cut = len(labels) * 4 // 5
    test = whole[cut:], labels[cut:]
    accuracies = {"whole": [], "scaled": []}  # type: ignore[var-annotated]
    for seed in range(asked.seeds):
        for name, images in (("whole", whole), ("scaled", scaled)):
            found = _accuracy(images[:cut], labels[:cut], test, seed, asked.epochs)
            accuracies[name].append(found)
    said = {"mean": float(difference.mean()), "largest": int(difference.max()), **accuracies}
    print(json.dumps(said))


def _all(pictures, side, scaled):  # type: ignore[no-untyped-def]
    """All pictures, rounded to 8 bits, in the order of the files; and the labels."""
    reader = PictureReader(pictures, Division(shuffle=False, remainder="uneven"))
    data = picture_batches(reader, size=(side, side), scaled_decoding=scaled, epochs=1)
    images, labels = zip(*data.as_numpy_iterator(), strict=True)
    rounded = [np.rint(one).astype(np.uint8) for one in images]
    return np.concatenate(rounded), np.concatenate(labels)


def _accuracy(images, labels, test, seed, epochs):  # type: ignore[no-untyped-def]
    tf.keras.utils.set_random_seed(seed)
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layers.Input(images.shape[1:]),
            layers.Rescaling(1 / 127.5, offset=-1),
            layers.Conv2D(16, 5, strides=max(1, images.shape[1] // 32), activation="relu"),
            layers.MaxPool2D(),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPool2D(),
            layers.Flatten(),
            layers.Dense(64, activation="relu"),
            layers.Dense(10),
        ]
    )
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(tf.keras.optimizers.Adam(0.001), loss, metrics=["accuracy"])
    data = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(len(labels), seed=seed)
    model.fit(data.batch(64), epochs=epochs, verbose=0)
    return float(model.evaluate(*test, batch_size=256, verbose=0)[1])


if __name__ == "__main__":
    main()
