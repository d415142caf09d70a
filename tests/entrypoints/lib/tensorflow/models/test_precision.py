from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from entrypoints.lib.errors import TrainingError

pytestmark = pytest.mark.horovod


@pytest.fixture(scope="module")
def room(tensorflow: Any) -> Any:
    from entrypoints.lib.tensorflow.models import precision

    return precision


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_layers_compute_in_16_bits_and_weights_and_probabilities_have_32(
    tensorflow: Any, room: Any, precision: str
) -> None:
    from entrypoints.lib.tensorflow.models import build

    before = tensorflow.keras.mixed_precision.global_policy().name
    with room.computing_in(precision):
        model = build("cnn", (8, 8, 1), 3, 16, dropout=0.1)
    assert tensorflow.keras.mixed_precision.global_policy().name == before
    images = np.random.default_rng(1).uniform(0, 16, (5, 8, 8, 1)).astype(np.float32)
    assert {layer.compute_dtype for layer in model.layers[:-1]} == {precision}
    assert {weight.dtype.base_dtype.name for weight in model.weights} == {"float32"}
    found = model.predict(images, verbose=0)
    assert found.dtype == np.float32
    assert found.sum(axis=1) == pytest.approx(1, abs=1e-5)
    plain = build("cnn", (8, 8, 1), 3, 16, dropout=0.1)
    plain.set_weights(model.get_weights())
    exact = plain.predict(images, verbose=0)
    assert found == pytest.approx(exact, abs=0.02)
    assert not np.array_equal(found, exact)


def test_a_scale_that_passes_without_an_exchange_would_drive_apart_is_refused(room: Any) -> None:
    model = SimpleNamespace(blueprint=SimpleNamespace(precision="float16"))
    with pytest.raises(TrainingError, match="--precision float16 with --backward-passes 2: "):
        room.with_loss_scale("an optimizer", model, 2)
    model.blueprint.precision = "bfloat16"
    assert room.with_loss_scale("an optimizer", model, 2) == "an optimizer"


def test_a_loss_scales_state_is_part_of_the_optimizers_and_its_making_is_no_step(
    tensorflow: Any, room: Any
) -> None:
    from entrypoints.lib.tensorflow import models

    model = models.build("mlp", (4, 4, 1), classes=3, brightest=16)
    inner = models.optimizer("adam", 0.1)
    optimizer = tensorflow.keras.mixed_precision.LossScaleOptimizer(inner)
    models.create_optimizer_state(optimizer, model.trainable_variables)
    scale, good_steps = models.optimizer_variables(optimizer)[-2:]
    assert (float(scale.numpy()), int(good_steps.numpy())) == (2**15, 0)
    assert len(models.optimizer_variables(optimizer)) == 2 + 1 + 2 * len(model.trainable_variables)
    assert float(room.scaled_loss(optimizer, tensorflow.constant(2.0))) == 2**16
    assert float(room.unscaled(optimizer, [tensorflow.constant(2.0**15)])[0]) == 1
    assert room.scaled_loss(inner, 2.0) == 2.0
