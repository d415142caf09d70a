from __future__ import annotations

import os
from typing import Any

import pytest


@pytest.fixture(scope="session")
def tensorflow() -> Any:
    """TensorFlow with the Keras that the training scripts use; the environment stays as it was."""
    before = dict(os.environ)
    os.environ.update({"TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"})
    import tensorflow

    _ = tensorflow.keras.optimizers  # loaded on use, and looks at the environment then
    os.environ.clear()
    os.environ.update(before)
    return tensorflow
