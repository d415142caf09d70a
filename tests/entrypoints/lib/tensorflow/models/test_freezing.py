from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from entrypoints.lib.errors import TrainingError

pytestmark = pytest.mark.horovod


@pytest.fixture(scope="module")
def room(tensorflow: Any) -> Any:
    from entrypoints.lib.tensorflow.models import freezing

    return freezing


def small(name: str, **how: Any) -> Any:
    from entrypoints.lib.tensorflow.models import build

    return build(name, (8, 8, 1), 3, 16, **how)


def test_a_frozen_body_leaves_the_head_to_train_and_all_weights_in_their_order(room: Any) -> None:
    model = small("cnn", dropout=0.3)
    before = [weight.name for weight in model.weights]
    room.freeze(model, "body")
    assert [weight.name for weight in model.trainable_weights] == before[-2:]
    assert [weight.name for weight in model.weights] == before
    assert room.moving(model) == []


def test_the_first_layers_are_frozen_and_one_too_many_is_told(room: Any) -> None:
    model = small("cnn")  # Conv2D, MaxPooling2D, Conv2D, MaxPooling2D, Flatten, Dense, head
    room.freeze(model, 3)
    assert len(model.trainable_weights) == 4
    with pytest.raises(TrainingError, match=r"--freeze 7: cnn has 6 layers before its head; ex"):
        room.freeze(small("cnn"), 7)


def test_frozen_normalisation_keeps_its_statistics_and_only_the_others_are_averaged(
    tensorflow: Any, room: Any
) -> None:
    layers = tensorflow.keras.layers
    core = tensorflow.keras.Sequential(
        [layers.InputLayer(input_shape=(4,)), layers.BatchNormalization(), layers.Dense(3)]
    )
    core.add(layers.BatchNormalization())
    entry, head = [layers.InputLayer(input_shape=(4,)), layers.Rescaling(1.0)], layers.Dense(2)
    model = tensorflow.keras.Sequential([*entry, core, head])
    room.freeze(model, 1)
    first, last = core.layers[0], core.layers[2]
    assert [v.name for v in room.moving(model)] == [v.name for v in last.non_trainable_weights]
    before = first.get_weights()
    model.compile("sgd", "mse")
    model.fit(np.ones((8, 4)) * 5, np.ones((8, 2)), verbose=0)
    assert all(np.array_equal(a, b) for a, b in zip(before, first.get_weights(), strict=True))
    assert not np.array_equal(last.get_weights()[2], np.zeros(3))
