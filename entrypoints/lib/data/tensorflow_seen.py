"""Pictures in TensorFlow as they are seen: upright, and white where they are transparent, as Pillow
and torchvision have them here (``pictures.decoding``). TensorFlow's decoder ignores both.

The look at a picture's begin costs at each of them, so this is for data in which such pictures were
found (``headers.differs_as_stored``).
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from ..pictures import headers

# In RE2 \C is a byte, also one that is no UTF-8. EXIF data come first in a JPEG, or after JFIF's 18
# bytes (Exif 2.3, 4.5.4) and what else stands there, and in a PNG before its IDAT; byte 25 of a PNG
# says whether it has a palette or an alpha channel, and tRNS names a colour that is transparent.
_TURNED = r"\C*Exif\x00\x00|\CPNG\C*eXIf"
_TRANSPARENT = r"\CPNG(?:\C{21}[\x03\x04\x06]|\C*tRNS)"
_SPECIAL = rf"(?:{_TURNED}|{_TRANSPARENT})\C*"
# A JPEG's frame (its length, 8 bits a sample, rows and columns, 1, 3 or 4 components) or a PNG's
# pixels. Where a colour profile or the like keeps them out of the begin, EXIF data may be behind.
_ENDS = r"(?:GIF8|BM|\C*IDAT|\C*\x00(?:\x0b\x08\C{4}\x01|\x11\x08\C{4}\x03|\x14\x08\C{4}\x04))\C*"
# Of orientation 1 to 8: quarters to the left, then whether left and right are exchanged.
_QUARTERS = (0, 0, 2, 2, 3, 3, 1, 1)
_MIRRORED = (False, True, False, True, True, False, True, False)


def pixels_of(
    content: Any,
    channels: int,
    size: tuple[int, int],
    decoded: Callable[[Any], Any],
) -> Any:
    """The pixels (rows, columns, channels) of an encoded picture, uint8.

    Args:
        content: Its bytes.
        channels: 1 or 3.
        size: (rows, columns) to which it will be resized.
        decoded: Decodes it as it is stored, given that size before it is turned.
    """
    begin = tf.strings.substr(content, 0, headers.BEGIN)

    def begins(pattern: str) -> Any:
        return tf.strings.regex_full_match(begin, pattern)

    def special() -> Any:
        may_lie = tf.logical_or(begins(rf"(?:{_TURNED})\C*"), tf.logical_not(begins(_ENDS)))
        way = tf.cond(may_lie, orientation, lambda: 1)
        lies = way >= headers.SIDEWAYS[0]

        def opaque() -> Any:
            return decoded(tf.cond(lies, lambda: size[::-1], lambda: size))

        is_filled = begins(rf"(?:{_TRANSPARENT})\C*")
        return _upright(tf.cond(is_filled, lambda: _on_white(content, channels), opaque), way)

    def orientation() -> Any:
        return tf.ensure_shape(tf.numpy_function(_orientation, [content], tf.int32), [])

    is_special = tf.logical_or(begins(_SPECIAL), tf.logical_not(begins(_ENDS)))
    image = tf.cond(is_special, special, lambda: decoded(size))
    return tf.ensure_shape(image, [None, None, channels])


def _on_white(content: Any, channels: int) -> Any:
    """What a PNG shows, white where nothing is."""
    found = tf.cast(tf.io.decode_png(content, channels=4), tf.float32)
    alpha = found[..., 3:] / 255
    colours = tf.cast(tf.round(found[..., :3] * alpha + 255 * (1 - alpha)), tf.uint8)
    return colours if channels == 3 else tf.image.rgb_to_grayscale(colours)


def _upright(image: Any, orientation: Any) -> Any:
    image = tf.image.rot90(image, tf.gather(_QUARTERS, orientation - 1))
    mirrored = tf.gather(_MIRRORED, orientation - 1)
    return tf.cond(mirrored, lambda: tf.image.flip_left_right(image), lambda: image)


def _orientation(content: Any) -> Any:
    """``content`` is bytes in a graph, and an array of them in eager execution."""
    return np.int32(headers.orientation(np.asarray(content, object).item()))
