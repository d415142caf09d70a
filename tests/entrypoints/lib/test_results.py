from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entrypoints.lib import results
from entrypoints.lib.errors import TrainingError
from entrypoints.lib.ranks import Ranks
from entrypoints.lib.results import Score
from tests.entrypoints.lib import thread_ranks


@pytest.mark.horovod
def test_scores_are_those_of_keras(tensorflow: Any) -> None:
    random = np.random.RandomState(1)
    probabilities = random.dirichlet(np.ones(5), size=50).astype(np.float32)
    labels = random.randint(0, 5, size=50)
    right, loss = results.scored(probabilities, labels)
    keras = tensorflow.keras
    expected = keras.losses.sparse_categorical_crossentropy(labels, probabilities).numpy().sum()
    assert loss == pytest.approx(expected, rel=1e-4)
    expected = keras.metrics.sparse_categorical_accuracy(labels, probabilities).numpy().sum()
    assert right == expected


def test_metrics_are_json_and_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    path = results.write_metrics(str(tmp_path), {"test_accuracy": 0.5})
    assert json.loads(Path(path).read_text()) == {"test_accuracy": 0.5}
    with pytest.raises(TrainingError, match=r"metrics\.json: cannot be written: .*--model-dir"):
        results.write_metrics(str(tmp_path / "metrics.json"), {})


def guessed(images: Any) -> Any:
    """Probabilities that follow from the pixels alone."""
    sums = images.reshape(len(images), -1).sum(axis=1)
    scores = np.stack([np.sin(sums * (k + 1)) + 1.1 for k in range(4)], axis=1)
    return (scores / scores.sum(axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.horovod
@pytest.mark.parametrize("samples", [1, 2, 7, 600], ids="{} samples".format)
def test_the_score_of_a_split_is_the_same_for_every_world_though_shares_are_uneven_or_empty(
    tensorflow: Any, monkeypatch: pytest.MonkeyPatch, samples: int
) -> None:
    """Five ranks share one, two or seven pictures; 600 are several batches for one rank."""
    from lib.data.in_memory import Images

    monkeypatch.setattr(Ranks, "of_this_process", None)
    random = np.random.RandomState(2)
    images = random.randint(0, 256, size=(samples, 4, 4, 1)).astype(np.uint8)
    labels = random.randint(0, 4, size=samples)
    data = Images("test", "here", images, labels, images, labels, 4, 255)
    right, loss = results.scored(guessed(images.astype(np.float32)), labels)
    expected = Score(right / samples, loss / samples)
    for size in (1, 2, 3, 5):
        found = thread_ranks.together(
            size, lambda ranks: results.evaluate(guessed, data, ranks, 0, (), 1)
        )
        assert found == [found[0]] * size
        assert found[0] is not None
        assert found[0].accuracy == pytest.approx(expected.accuracy, abs=1e-12)
        assert found[0].loss == pytest.approx(expected.loss, rel=1e-9)


@pytest.mark.horovod
def test_a_rank_in_a_hurry_leaves_all_without_a_score(
    tensorflow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lib.data.in_memory import Images

    monkeypatch.setattr(Ranks, "of_this_process", None)
    images, labels = np.zeros((1000, 2, 2, 1), np.uint8), np.zeros(1000, np.int64)
    data = Images("test", "here", images, labels, images, labels, 4, 255)
    batches = [0, 0]

    def evaluate(ranks: Ranks) -> Score | None:
        def predict(pixels: Any) -> Any:
            batches[ranks.rank] += 1
            return guessed(pixels)

        return results.evaluate(predict, data, ranks, 0, (), 1, lambda: ranks.rank == 1)

    assert thread_ranks.together(2, evaluate) == [None, None]
    assert batches == [2, 1]


def test_metrics_of_ranks_count_by_their_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ranks, "of_this_process", None)

    def average(ranks: Ranks) -> dict[str, float]:
        return ranks.average({"loss": (2.0, 8.0, 99.0)[ranks.rank]}, (3.0, 1.0, 0.0)[ranks.rank])

    assert thread_ranks.together(3, average) == [{"loss": 3.5}] * 3
