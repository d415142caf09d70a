from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from entrypoints.lib.data import digits
from entrypoints.lib.data.dataset import Part
from entrypoints.lib.errors import TrainingError

pytestmark = pytest.mark.horovod


@pytest.fixture(scope="module")
def models(tensorflow: Any) -> Any:
    from entrypoints.lib.tensorflow import models

    return models


@pytest.mark.parametrize("name", ["mlp", "cnn"])
@pytest.mark.parametrize(
    "shape", [(8, 8, 1), (28, 28, 1), (3, 5, 3), (32, 32, 3), (61, 130, 3), (224, 224, 3)]
)
def test_a_model_takes_stored_pixels_and_gives_probabilities(
    models: Any, name: str, shape: tuple[int, int, int]
) -> None:
    model = models.build(name, shape, classes=7, brightest=16)
    found = model.predict(np.full((3, *shape), 16, np.float32), verbose=0)
    assert found.shape == (3, 7)
    assert found.sum(axis=1) == pytest.approx(1.0, abs=1e-5)
    assert len(model.weights) == len(model.trainable_weights)
    assert model.count_params() < 2_500_000


def test_resnet50_takes_grey_and_coloured_pictures_and_refuses_too_small_ones(models: Any) -> None:
    model = models.build("resnet50", (32, 40, 1), classes=3, brightest=255)
    assert model.predict(np.zeros((2, 32, 40, 1), np.float32), verbose=0).shape == (2, 3)
    assert len(model.weights) > len(model.trainable_weights)
    with pytest.raises(
        TrainingError, match=r"images are 28x28; expected at least 32x32\. Add --im"
    ):
        models.build("resnet50", (28, 28, 1), classes=3, brightest=255)


@pytest.mark.parametrize("name", ["adam", "sgd"])
def test_optimizer_state_is_made_without_changing_weights_or_the_count_of_steps(
    models: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = models.build("mlp", (4, 4, 1), classes=3, brightest=16)
    before = model.get_weights()
    optimizer = models.optimizer(name, 0.1)
    # Any step would tell the job's evidence that this rank has trained.
    monkeypatch.setattr(type(optimizer), "apply_gradients", None)
    models.create_optimizer_state(optimizer, model.trainable_variables)
    assert all(np.array_equal(a, b) for a, b in zip(before, model.get_weights(), strict=True))
    assert int(optimizer.iterations.numpy()) == 0
    slots = {"adam": 2, "sgd": 1}[name]
    assert len(models.optimizer_variables(optimizer)) == 1 + slots * len(before)


def test_the_digits_train_to_a_useful_accuracy_with_plain_sgd(tensorflow: Any, models: Any) -> None:
    from entrypoints.lib import results
    from entrypoints.lib.options import training

    images = digits.load_digits()
    tensorflow.keras.utils.set_random_seed(1)
    model = models.build("mlp", images.shape, images.classes, images.brightest)
    model.compile(
        models.optimizer("sgd", training.SGD_LEARNING_RATE), "sparse_categorical_crossentropy"
    )
    model.fit(
        images.course(Part(rank=0, world_size=1, batch_size=32, seed=1), None).batches(5),
        epochs=5,
        steps_per_epoch=45,
        verbose=0,
    )
    found = model.predict(images.test_images.astype(np.float32), verbose=0)
    assert results.scored(found, images.test_labels)[0] / len(images.test_labels) > 0.9


def test_a_layer_without_a_seed_draws_apart_on_each_rank_and_alike_in_each_run(
    tensorflow: Any, models: Any
) -> None:
    """As the dropout that is in the body of EfficientNetB0."""

    def drawn(rank: int, seed: int = 1) -> list[float]:
        tensorflow.keras.backend.clear_session()
        random.seed(1)  # by which Keras seeds layers, and the same on all ranks
        layer = tensorflow.keras.layers.Dropout(0.5)
        models.draw_apart(seed, rank)
        step = tensorflow.function(lambda: layer(tensorflow.ones([64]), training=True))
        found: list[float] = step().numpy().tolist()
        return found

    first = drawn(0)
    assert drawn(0) == first
    assert first not in (drawn(1), drawn(0, seed=2))
