from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from entrypoints.lib import checkpoints
from entrypoints.lib.checkpoints import Checkpoint
from entrypoints.lib.errors import TrainingError

HALF = np.array([0.5], np.float32)
STATE = Checkpoint(
    epoch=3,
    steps=66,
    identity={"model": "mlp", "image shape": [8, 8, 1]},
    settings={"--seed": 1, "--limit": None},
    history=[{"epoch": 1, "loss": 0.5}],
    weights=[np.arange(6, dtype=np.float32).reshape(2, 3), HALF],
    optimizer=[np.array(66, np.int64), np.zeros((2, 3), np.float32)],
)


def after(epoch: int) -> Checkpoint:
    return dataclasses.replace(STATE, epoch=epoch)


def test_what_is_loaded_is_what_was_saved(tmp_path: Path) -> None:
    checkpoints.save(str(tmp_path), STATE, keep=1)
    found = checkpoints.load_newest(str(tmp_path))
    assert found is not None
    assert (found.epoch, found.steps) == (3, 66)
    assert found.identity == STATE.identity
    assert found.settings == STATE.settings
    assert found.history == STATE.history
    for theirs, ours in ((found.weights, STATE.weights), (found.optimizer, STATE.optimizer)):
        assert [array.dtype for array in theirs] == [array.dtype for array in ours]
        assert all(np.array_equal(a, b) for a, b in zip(theirs, ours, strict=True))
    checkpoints.check_fits(found, str(tmp_path), STATE)


def test_an_empty_or_absent_folder_has_no_checkpoint(tmp_path: Path) -> None:
    assert checkpoints.load_newest(str(tmp_path)) is None
    assert checkpoints.load_newest(str(tmp_path / "absent")) is None


def test_the_newest_are_kept_and_nothing_else_is_touched(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    for epoch in range(1, 5):
        checkpoints.save(str(tmp_path), after(epoch), keep=2)
    assert sorted(os.listdir(tmp_path)) == [
        "checkpoint-00003.npz",
        "checkpoint-00004.npz",
        "notes.txt",
    ]


def test_the_newest_is_the_one_with_most_epochs_not_the_last_by_name(tmp_path: Path) -> None:
    for epoch in (99_999, 100_000):
        checkpoints.save(str(tmp_path), after(epoch), keep=5)
    found = checkpoints.load_newest(str(tmp_path))
    assert found is not None
    assert found.epoch == 100_000


def as_text(word: str) -> bytes:
    """NumPy stores a text four bytes a letter."""
    return word.encode("utf-32-le")


def said_to_be_encrypted(content: bytes) -> bytes:
    """By the first of an archive's directory, whose flags follow its signature and two versions."""
    flags = content.index(b"PK\1\2") + 8
    return content[:flags] + bytes([content[flags] | 1]) + content[flags + 1 :]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda content: b"", id="empty"),
        pytest.param(lambda content: content[: len(content) // 2], id="half"),
        pytest.param(lambda content: b"\0" * len(content), id="zeros"),
        pytest.param(
            lambda content: content.replace(HALF.tobytes(), b"\1\2\3\4"),
            id="one number changed",
        ),
        pytest.param(
            lambda content: content.replace(as_text("format"), as_text("fromat")),
            id="one word changed",
        ),
        pytest.param(said_to_be_encrypted, id="one bit changed"),
    ],
)
def test_a_damaged_checkpoint_is_named_with_what_to_do_and_never_passed_over(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    checkpoints.save(str(tmp_path), after(2), keep=2)
    path = Path(checkpoints.save(str(tmp_path), after(3), keep=2))
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert path.read_bytes() != whole
    with pytest.raises(TrainingError) as error:
        checkpoints.load_newest(str(tmp_path))
    assert str(error.value).startswith(f"{path}: the checkpoint is damaged")
    assert f"Delete this file to go on from {tmp_path}/checkpoint-00002.npz" in str(error.value)
    (tmp_path / "checkpoint-00002.npz").unlink()
    with pytest.raises(TrainingError, match="Delete this file to start over"):
        checkpoints.load_newest(str(tmp_path))


def test_a_checkpoint_with_pickled_code_in_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint-00001.npz"
    np.savez(path, about=np.array([{"format": 1}], dtype=object))
    with pytest.raises(TrainingError, match="damaged"):
        checkpoints.load_newest(str(tmp_path))


def test_a_checkpoint_of_another_model_is_refused_with_each_difference() -> None:
    ours = dataclasses.replace(STATE, identity={"model": "cnn", "image shape": [28, 28, 1]})
    with pytest.raises(TrainingError) as error:
        checkpoints.check_fits(STATE, "/c", ours)
    for part in (
        "/c/checkpoint-00003.npz",
        "model is mlp there and cnn here",
        "image shape is [8, 8, 1] there and [28, 28, 1] here",
        "--checkpoint-dir",
    ):
        assert part in str(error.value)


@pytest.mark.parametrize(
    "ours",
    [
        dataclasses.replace(STATE, weights=[np.zeros((4, 4), np.float32)]),
        dataclasses.replace(STATE, optimizer=[np.zeros((4, 4), np.float32)]),
    ],
    ids=["weights", "optimizer"],
)
def test_a_checkpoint_with_arrays_of_another_form_is_refused(ours: Checkpoint) -> None:
    with pytest.raises(TrainingError, match="other shapes"):
        checkpoints.check_fits(STATE, "/c", ours)


def test_settings_that_differ_are_told_one_by_one() -> None:
    theirs, ours = {"--seed": 1, "world size": 2}, {"--seed": 1, "world size": 4}
    assert checkpoints.differences(theirs, ours) == ["world size is 2 there and 4 here"]


def test_a_folder_that_is_gone_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"checkpoint-00003\.npz: the checkpoint cannot be"):
        checkpoints.save(str(tmp_path / "gone"), STATE, keep=1)


def test_the_size_that_is_told_beforehand_is_enough_to_check_for_room(tmp_path: Path) -> None:
    big = dataclasses.replace(STATE, weights=[np.zeros(100_000, np.float32)])
    path = checkpoints.save(str(tmp_path), big, keep=1)
    assert os.path.getsize(path) == pytest.approx(big.size_in_bytes(), rel=0.05)
