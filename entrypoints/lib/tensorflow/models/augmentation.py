"""Augmentation as a layer: other crops, flips, rotations, zooms, colours in each step of training.

Ranges are those of ``pictures.augmenting``, which does the same to files.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any, Sequence

import tensorflow as tf

from ...pictures.augmenting import COLOR_RANGE, LEAST_CROP, MOST_DEGREES, MOST_ZOOM

DRAWS = 9  # numbers drawn for each picture, whatever the kinds


class Augmentation(tf.keras.layers.Layer):
    """Passes (n, rows, columns, channels) pixels on as they are, in training augmented.

    What is drawn depends on the seed, the rank, the pass and a picture's place in its batch alone:
    ranks draw differently, and a run draws the same again. It has no weights.

    Args:
        kinds: Of ``pictures.augmenting.KINDS``.
        brightest: The largest pixel value.
        seed: Of the run.
        rank: Of this process.
    """

    def __init__(self, kinds: Sequence[str], brightest: int, seed: int, rank: int):
        # float32 under any policy: pixels are still as they are stored.
        super().__init__(trainable=False, name="augmentation", dtype="float32")
        self._kinds, self._brightest = tuple(kinds), float(brightest)
        digest = hashlib.blake2b(f"{seed}\n{rank}".encode(), digest_size=7).digest()
        self._key = int.from_bytes(digest, "big")
        self._passes = _Untracked(tf.Variable(0, dtype=tf.int64, trainable=False))

    def begin_at(self, passes: int) -> None:
        """Draws as after so many batches, where a run goes on."""
        self._passes.variable.assign(passes)

    def call(self, images: Any, training: Any = None) -> Any:
        """The pictures, float32."""
        images = tf.cast(images, tf.float32)
        if training is None or isinstance(training, (bool, int)):
            return self._augmented(images) if training else images
        return tf.cond(tf.cast(training, tf.bool), lambda: self._augmented(images), lambda: images)

    def _augmented(self, images: Any) -> Any:
        number = self._passes.variable.assign_add(1, read_value=True)
        key = tf.stack([tf.constant(self._key, tf.int64), number])
        drawn = tf.random.stateless_uniform([tf.shape(images)[0], DRAWS], key)
        if {"crop", "flip", "rotate", "zoom"} & set(self._kinds):
            images = self._placed(images, drawn)
        return self._colored(images, drawn) if "color" in self._kinds else images

    def _placed(self, images: Any, drawn: Any) -> Any:
        """Crop, flip, rotation and zoom in one sampling; black where nothing was."""
        kinds, one = self._kinds, tf.ones_like(drawn[:, 0])
        rows, columns = images.shape[1], images.shape[2]
        middle_x, middle_y = (columns - 1) / 2, (rows - 1) / 2
        part = LEAST_CROP + (1 - LEAST_CROP) * drawn[:, 0] if "crop" in kinds else one
        away_x = (2 * drawn[:, 1] - 1) * (1 - part) * middle_x
        away_y = (2 * drawn[:, 2] - 1) * (1 - part) * middle_y
        flip = tf.where(drawn[:, 3] < 0.5, -one, one) if "flip" in kinds else one
        turn = (2 * drawn[:, 4] - 1) * math.radians(MOST_DEGREES) if "rotate" in kinds else 0 * one
        scale = part * (1 + (2 * drawn[:, 5] - 1) * MOST_ZOOM) if "zoom" in kinds else part
        across, down = scale * tf.cos(turn), scale * tf.sin(turn)
        # Where the pixel (x, y) of the copy lies in the original, from the middle of both.
        matrix = [
            across * flip,
            -down,
            middle_x + away_x - across * flip * middle_x + down * middle_y,
            down * flip,
            across,
            middle_y + away_y - down * flip * middle_x - across * middle_y,
            0 * one,
            0 * one,
        ]
        placed = tf.raw_ops.ImageProjectiveTransformV3(
            images=images,
            transforms=tf.stack(matrix, axis=1),
            output_shape=tf.constant([rows, columns]),
            fill_value=0.0,
            interpolation="BILINEAR",
            fill_mode="CONSTANT",
        )
        return tf.ensure_shape(placed, images.shape)

    def _colored(self, images: Any, drawn: Any) -> Any:
        """Brightness, contrast about a picture's mean, and saturation where there are colours."""
        least, most = COLOR_RANGE
        factors = (least + (most - least) * drawn[:, 6:9])[:, :, None, None, None]
        images = self._within(images * factors[:, 0])
        grey = tf.image.rgb_to_grayscale(images) if images.shape[-1] == 3 else images
        mean = tf.reduce_mean(grey, axis=[1, 2, 3], keepdims=True)
        images = self._within(mean + (images - mean) * factors[:, 1])
        if images.shape[-1] != 3:
            return images
        grey = tf.image.rgb_to_grayscale(images)
        return self._within(grey + (images - grey) * factors[:, 2])

    def _within(self, images: Any) -> Any:
        return tf.clip_by_value(images, 0.0, self._brightest)


class _Untracked:
    """Keeps a variable out of the layer's weights, and so out of checkpoints and broadcasts."""

    def __init__(self, variable: Any):
        self.variable = variable
