from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from entrypoints.lib import arguments, checkpoints
from entrypoints.lib.places import Place
from entrypoints.lib.ranks import Ranks
from entrypoints.lib.saved_state import SavedState
from tests.entrypoints.lib import thread_ranks


def data_of(*fingerprint: int) -> Any:
    return SimpleNamespace(
        **{"name": "digits", "shape": (8, 8, 1), "classes": 10, "training_count": 100},
        fingerprint=lambda: fingerprint,
    )


DATA = data_of(1, 2)


class Learner:
    """One number of a model, and one of an optimizer."""

    def __init__(self, ranks: Ranks):
        self.versions, self.identity = {"NumPy": np.__version__}, dict[str, Any]()
        self._ranks = ranks
        self._arrays = [np.full(1, float(ranks.rank + 1)), np.full(1, 10.0 * (ranks.rank + 1))]

    def weights(self) -> list[Any]:
        return self._arrays[:1]

    def optimizer_state(self) -> list[Any]:
        return self._arrays[1:]

    def fill(self, weights: Sequence[Any], optimizer: Sequence[Any]) -> None:
        self._arrays = [*weights, *optimizer]

    def take_first(self) -> None:
        self._arrays = self._ranks.from_first(self._arrays)

    def settle(self) -> None:
        pass

    def predict(self, images: Any) -> Any:
        return images


@pytest.fixture(autouse=True)
def _no_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ranks, "of_this_process", None)


def state_of(ranks: Ranks, folder: Path | None, *argv: str, data: Any = DATA) -> SavedState:
    place = None if folder is None else Place(str(folder), "--checkpoint-dir")
    return SavedState(arguments.parse(list(argv)), ranks, data, Learner(ranks), place)


def test_a_folder_that_rank_0_alone_was_told_of_keeps_the_ranks_in_step(tmp_path: Path) -> None:
    """As mpirun hands on no variable that it wasn't told to."""

    def train(ranks: Ranks) -> list[int]:
        state = state_of(ranks, tmp_path if ranks.first else None)
        state.restore()
        state.after_step(3, 3, {"epoch": 0})
        state.after_epoch(1, 5, {"loss": 0.5}, {"epoch": 1})
        return ranks.gather(ranks.rank)

    assert thread_ranks.together(2, train) == [[0, 1]] * 2
    assert sorted(os.listdir(tmp_path)) == [
        "checkpoint-00000-step-0000003.npz",
        "checkpoint-00001.npz",
    ]

    def go_on(ranks: Ranks) -> tuple[int, int, float]:
        state = state_of(ranks, tmp_path if ranks.first else None)
        state.restore()
        (weight,) = state._learner.weights()
        return state.epochs_done, state.steps_done, float(weight[0])

    assert thread_ranks.together(2, go_on) == [(1, 5, 1.0)] * 2


def test_settings_that_differ_are_told_but_for_those_that_an_earlier_version_did_not_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def written(ranks: Ranks) -> None:
        state_of(ranks, tmp_path).after_epoch(1, 5, {"loss": 0.5}, {"epoch": 1})

    thread_ranks.together(1, written)
    found = checkpoints.load_newest(str(tmp_path))
    assert found is not None
    older = {name: found.settings[name] for name in ("--seed", "--lr", "world size")}
    checkpoints.save(str(tmp_path), dataclasses.replace(found, settings=older), keep=1)
    capsys.readouterr()
    thread_ranks.together(
        1, lambda ranks: state_of(ranks, tmp_path, "--seed", "7", "--dropout", "0.5").restore()
    )
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "mind that" in line] == [
        "checkpoints: mind that --seed is 1 there and 7 here"
    ]
    checkpoints.save(str(tmp_path), found, keep=1)
    thread_ranks.together(
        1, lambda ranks: state_of(ranks, tmp_path, "--seed", "7", "--dropout", "0.5").restore()
    )
    assert "mind that --dropout is 0.0 there and 0.5 here" in capsys.readouterr().out


def test_that_the_data_are_others_than_those_of_the_checkpoint_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As where another folder of pictures has as many classes."""

    def written(ranks: Ranks) -> None:
        state_of(ranks, tmp_path).after_epoch(1, 5, {"loss": 0.5}, {"epoch": 1})

    thread_ranks.together(1, written)
    same = data_of(np.int64(1), np.uint32(2))  # whatever their NumPy calls its numbers
    for data, told in ((same, 0), (data_of(1, 3), 1)):
        capsys.readouterr()
        thread_ranks.together(1, lambda ranks, data=data: state_of(
            ranks, tmp_path, data=data).restore())  # fmt: skip
        lines = [line for line in capsys.readouterr().out.splitlines() if "mind that" in line]
        assert len(lines) == told
        assert all(line.startswith("checkpoints: mind that the data is 100 ") for line in lines)
