from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.horovod


def test_scores_are_those_of_keras(tensorflow: Any) -> None:
    from entrypoints.lib import results

    random = np.random.RandomState(1)
    probabilities = random.dirichlet(np.ones(5), size=50).astype(np.float32)
    labels = random.randint(0, 5, size=50)
    right, loss = results.score(probabilities, labels)
    keras = tensorflow.keras
    expected = keras.losses.sparse_categorical_crossentropy(labels, probabilities).numpy().sum()
    assert loss == pytest.approx(expected, rel=1e-4)
    expected = keras.metrics.sparse_categorical_accuracy(labels, probabilities).numpy().sum()
    assert right == expected
