"""One picture's pixels from its encoded bytes, by TensorFlow, and why it has none."""

from __future__ import annotations

import re
from typing import Any

import tensorflow as tf

from ..pictures import headers
from .tensorflow_seen import pixels_of

SCALES = (8, 4, 2)  # at which libjpeg can decode a part of the size
_PLACES_IN_GRAPH = re.compile(r"\{\{.*?\}\}|\[Op:.*")


def decode(
    content: Any,
    size: tuple[int, int],
    channels: int = 3,
    fit: str = "stretch",
    scaled_decoding: bool = False,
    as_seen: bool = True,
) -> Any:
    """One picture, (rows, columns, channels) float32 0 to 255, from its encoded bytes: a tensor.

    What it gives for the same bytes is the same in training, evaluation and prediction. Without
    ``as_seen`` a picture that EXIF data turn stays as it is stored, as does what is transparent.
    """

    def decoded(stored: Any) -> Any:
        if scaled_decoding:
            return _decoded_to_scale(content, stored, channels)
        return tf.io.decode_image(content, channels=channels, expand_animations=False)

    if as_seen:
        image = pixels_of(content, channels, size, decoded)
    else:
        image = decoded(size)
        image.set_shape([None, None, channels])
    if fit == "crop":
        image = _cropped(image, size)
    image = tf.image.resize(image, size)  # float32, 0 to 255
    return tf.ensure_shape(image, [*size, channels])


def _cropped(image: Any, size: tuple[int, int]) -> Any:
    """The middle of ``image`` in the ratio of ``size``."""
    shape = tf.shape(image)
    rows = tf.minimum(shape[0], shape[1] * size[0] // size[1])
    columns = tf.minimum(shape[1], shape[0] * size[1] // size[0])
    top, left = (shape[0] - rows) // 2, (shape[1] - columns) // 2
    return image[top : top + rows, left : left + columns]


def _decoded_to_scale(content: Any, size: Any, channels: int) -> Any:
    def whole() -> Any:
        return tf.io.decode_image(content, channels=channels, expand_animations=False)

    def at(scale: int) -> Any:
        return lambda: tf.io.decode_jpeg(content, channels=channels, ratio=scale)

    def jpeg() -> Any:
        shape = tf.io.extract_jpeg_shape(content)
        fits = tf.minimum(shape[0] // size[0], shape[1] // size[1])
        return tf.case([(fits >= scale, at(scale)) for scale in SCALES], default=whole)

    return tf.cond(tf.io.is_jpeg(content), jpeg, whole)


def seen_size(content: bytes) -> tuple[int, int]:
    """(width, height) of a picture as it is seen.

    Raises:
        tf.errors.OpError: It cannot be decoded.
    """
    height, width, _ = tf.io.decode_image(content, expand_animations=False).shape
    if headers.orientation(content) in headers.SIDEWAYS:
        width, height = height, width
    return int(width), int(height)


def why_not_decoded(content: bytes, channels: int = 0) -> str | None:
    """Why a picture's bytes are not decoded, in words: too many pixels, which TensorFlow itself
    would take, or its own reason; None where they are."""
    too_large = headers.too_large(content)
    if too_large is not None:
        return too_large
    try:
        tf.io.decode_image(content, channels=channels, expand_animations=False)
    except tf.errors.OpError as error:
        return in_words(error)
    return None


def remedy(content: bytes, otherwise: str) -> str:
    """What to do about a picture that cannot be decoded: ``otherwise``, unless Pillow reads it."""
    name = headers.format_for_pillow(content)
    if name is None:
        return otherwise
    return (
        f"TensorFlow can't decode {name}: convert the pictures with `launch data parquet "
        "--format jpeg`."
    )


def in_words(error: tf.errors.OpError) -> str:
    """TensorFlow's error as a line: the middle of ``{{node x}} Invalid PNG. [Op:y] name:``."""
    return _PLACES_IN_GRAPH.sub("", str(error.message or error).split("\n")[0]).strip()
