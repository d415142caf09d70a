from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from entrypoints.lib.data import digits
from entrypoints.lib.errors import TrainingError


@pytest.mark.horovod
def test_the_digits_are_all_there_and_none_is_both_trained_on_and_tested() -> None:
    found = digits.load_digits()
    assert len(found.training_labels) + len(found.test_labels) == 1797
    assert found.shape == (8, 8, 1)
    assert found.training_images.max() == found.brightest == 16
    assert set(found.test_labels.tolist()) == set(range(10))
    assert found.fingerprint() == digits.load_digits().fingerprint()


@pytest.mark.horovod
@pytest.mark.parametrize("elsewhere", [None, SimpleNamespace(origin="/nowhere/__init__.py")])
def test_the_digits_of_the_file_are_those_of_scikit_learn(
    monkeypatch: pytest.MonkeyPatch, elsewhere: SimpleNamespace | None
) -> None:
    read = digits.load_digits()
    monkeypatch.setattr(digits.importlib.util, "find_spec", lambda name: elsewhere)
    told = digits.load_digits()
    for name in ("training_images", "training_labels", "test_images", "test_labels"):
        ours, theirs = getattr(read, name), getattr(told, name)
        assert (ours.dtype, ours.tolist()) == (theirs.dtype, theirs.tolist())


def test_digits_without_scikit_learn_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digits.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(TrainingError, match="Install scikit-learn, or choose --data fashion-mnist"):
        digits.load_digits()


@pytest.mark.horovod
def test_a_limit_cuts_training_images_alone() -> None:
    found = digits.load_digits()
    assert len(found.first(100).training_labels) == len(found.first(100).training_images) == 100
    assert len(found.first(100).test_labels) == len(found.test_labels)
    assert found.first(None) is found.first(10**6) is found
