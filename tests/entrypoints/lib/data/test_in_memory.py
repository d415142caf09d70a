from __future__ import annotations

import pytest

from entrypoints.lib.data import digits


@pytest.mark.horovod
def test_the_digits_are_all_there_and_none_is_both_trained_on_and_tested() -> None:
    found = digits.load_digits()
    assert len(found.training_labels) + len(found.test_labels) == 1797
    assert found.shape == (8, 8, 1)
    assert found.training_images.max() == found.brightest == 16
    assert set(found.test_labels.tolist()) == set(range(10))
    assert found.fingerprint() == digits.load_digits().fingerprint()


@pytest.mark.horovod
def test_a_limit_cuts_training_images_alone() -> None:
    found = digits.load_digits()
    assert len(found.first(100).training_labels) == len(found.first(100).training_images) == 100
    assert len(found.first(100).test_labels) == len(found.test_labels)
    assert found.first(None) is found.first(10**6) is found
