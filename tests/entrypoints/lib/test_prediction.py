from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lib.arrays import Array
from lib.prediction import averaged

KINDS = ("crop", "flip", "rotate", "color")


def pictures(channels: int, count: int = 5) -> Array:
    random = np.random.RandomState(3)
    return random.randint(0, 256, (count, 12, 10, channels)).astype(np.uint8)


def means(pixels: Array) -> Array:
    """Two numbers of each picture, in the place of a model's."""
    assert pixels.dtype == np.float32
    return np.stack([pixels[:, :, :5].mean((1, 2, 3)), pixels.max((1, 2, 3))], axis=1)


def predicted(images: Array, **how: Any) -> Array:
    return averaged(means, images, **{"copies": 3, "augment": KINDS, "seed": 7, **how})


@pytest.mark.parametrize("channels", [1, 3])
def test_a_prediction_is_the_mean_over_the_picture_and_its_copies(channels: int) -> None:
    images, seen = pictures(channels), []

    def predict(pixels: Array) -> Array:
        seen.append(pixels.copy())
        return means(pixels)

    found = averaged(predict, images, copies=3, augment=KINDS, seed=7)
    assert np.array_equal(seen[0], images)
    assert len(seen) == 4
    assert not any(np.array_equal(seen[0], copied) for copied in seen[1:])
    assert np.allclose(found, np.mean([means(pixels) for pixels in seen], axis=0))


def test_no_copies_are_the_prediction_itself() -> None:
    images = pictures(3)
    assert np.array_equal(predicted(images, copies=0), means(images.astype("f4")))


def test_a_share_s_predictions_do_not_depend_on_who_reads_what() -> None:
    images = pictures(3)
    whole = predicted(images)
    for rank in range(2):
        assert np.array_equal(predicted(images[rank::2]), whole[rank::2])
    assert not np.array_equal(predicted(images, seed=8), whole)
