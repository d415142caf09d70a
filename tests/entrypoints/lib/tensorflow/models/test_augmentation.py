from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from entrypoints.lib.pictures.augmenting import KINDS

pytestmark = pytest.mark.horovod

DRAWN = np.random.default_rng(5).integers(0, 256, (16, 12, 20, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def layer(tensorflow: Any) -> Any:
    from entrypoints.lib.tensorflow.models.augmentation import Augmentation

    return Augmentation


def passed(made: Any, images: np.ndarray = DRAWN) -> np.ndarray:
    return made(images, training=True).numpy()


def test_pixels_are_as_they_are_stored_but_in_training(layer: Any) -> None:
    made = layer(KINDS, 255, 1, 0)
    assert np.array_equal(made(DRAWN, training=False).numpy(), DRAWN)
    assert np.array_equal(made(DRAWN).numpy(), DRAWN)
    assert made.weights == []
    found = passed(made)
    assert (found.min(), found.max()) >= (0, 0)
    assert found.max() <= 255
    assert not np.array_equal(found, DRAWN)


def test_flips_are_exact_and_come_to_about_half_of_the_pictures(layer: Any) -> None:
    images = np.tile(DRAWN, (16, 1, 1, 1))
    found = passed(layer(("flip",), 255, 1, 0), images)
    flipped = [np.array_equal(a, b[:, ::-1]) for a, b in zip(found, images, strict=True)]
    same = [np.array_equal(a, b) for a, b in zip(found, images, strict=True)]
    assert all(a != b for a, b in zip(flipped, same, strict=True))
    assert 80 < sum(flipped) < 176


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("channels", [1, 3])
def test_every_kind_changes_pictures_of_any_shape_and_draws_one_by_one(
    layer: Any, kind: str, channels: int
) -> None:
    images = np.repeat(DRAWN[:1, :, :, :channels], 16, axis=0)
    found = passed(layer((kind,), 255, 1, 0), images)
    assert found.shape == images.shape
    different = {picture.tobytes() for picture in found}
    assert len(different) == 2 if kind == "flip" else len(different) > 10


def test_crops_stay_within_the_picture_and_rotations_do_not(layer: Any) -> None:
    white = np.full((64, 9, 13, 1), 255, np.float32)
    assert passed(layer(("crop", "flip"), 255, 1, 0), white) == pytest.approx(white)
    assert (passed(layer(("rotate",), 255, 1, 0), white) == 0).any()


def test_a_rotation_turns_about_the_middle_and_keeps_lengths(layer: Any) -> None:
    images = np.zeros((32, 41, 41, 1), np.float32)
    images[:, 20, 20], images[:, 20, 32:35] = 100, 100
    found = passed(layer(("rotate",), 255, 1, 0), images)
    assert found[:, 20, 20, 0] == pytest.approx(np.full(32, 100), abs=1)
    rows, columns = np.indices((41, 41)) - 20
    far = found[..., 0] * (rows**2 + columns**2 > 36)
    reach = (far * np.hypot(rows, columns)).sum((1, 2)) / far.sum((1, 2))
    assert reach == pytest.approx(np.full(32, 13), abs=0.5)


def test_draws_are_repeatable_by_seed_and_other_on_each_rank_and_in_each_step(layer: Any) -> None:
    def three(seed: int, rank: int) -> list[bytes]:
        made = layer(("crop", "color"), 255, seed, rank)
        return [passed(made).tobytes() for _ in range(3)]

    first = three(1, 0)
    assert three(1, 0) == first
    assert len({*first, *three(1, 1), *three(2, 0)}) == 9
    resumed = layer(("crop", "color"), 255, 1, 0)
    resumed.begin_at(2)
    assert passed(resumed).tobytes() == first[2]


def test_a_model_trains_with_it_and_has_the_weights_of_one_without(
    tensorflow: Any, layer: Any
) -> None:
    from entrypoints.lib.tensorflow.models import build

    models = []
    for before in ((), (layer(("flip", "crop"), 16, 1, 0),)):
        tensorflow.keras.utils.set_random_seed(3)
        models.append(build("cnn", (8, 8, 1), 3, 16, before=before))
    plain, augmented = models
    pairs = list(zip(plain.get_weights(), augmented.get_weights(), strict=True))
    assert len(plain.weights) == len(augmented.weights) == len(pairs)
    assert all(np.array_equal(a, b) for a, b in pairs)
    images = np.random.default_rng(1).uniform(0, 16, (6, 8, 8, 1)).astype(np.float32)
    assert np.array_equal(plain.predict(images), augmented.predict(images))
    augmented.compile("sgd", "sparse_categorical_crossentropy")
    augmented.fit(images, np.zeros(6), batch_size=2, verbose=0)
    next_draw = passed(augmented.layers[0], images)
    as_after_three_steps = layer(("flip", "crop"), 16, 1, 0)
    as_after_three_steps.begin_at(3)
    assert np.array_equal(next_draw, passed(as_after_three_steps, images))
