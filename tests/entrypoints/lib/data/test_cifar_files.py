from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entrypoints.lib.data import cifar_files, published
from entrypoints.lib.errors import TrainingError
from entrypoints.lib.places import Place


def planes(seed: int, count: int) -> Any:
    return np.random.RandomState(seed).randint(0, 256, size=(count, 3072)).astype(np.uint8)


def write(folder: Path, *, binary: bool = False) -> list[Any]:
    """Six files of two pictures in one of CIFAR-10's formats; gives their planes."""
    folder.mkdir(parents=True)
    written = []
    for number, name in enumerate((*cifar_files.TRAINING, cifar_files.TEST)):
        data, labels = planes(number, 2), [number % 10, 9]
        written.append(data)
        if binary:
            rows = np.concatenate([np.array(labels, np.uint8)[:, None], data], axis=1)
            (folder / f"{name}.bin").write_bytes(rows.tobytes())
        else:
            # As Python 2 wrote them: keys are bytes when they are read.
            about = {b"batch_label": b"", b"labels": labels, b"data": data, b"filenames": []}
            (folder / name).write_bytes(pickle.dumps(about, protocol=2))
    return written


def load(folder: Path) -> Any:
    return published.load_cifar10([Place(str(folder), "--data-dir")], None)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("below", ["", "cifar-10-batches-py"])
def test_the_files_of_both_versions_are_read(tmp_path: Path, binary: bool, below: str) -> None:
    written = write(tmp_path / "data" / below, binary=binary)
    found = load(tmp_path / "data")
    assert (found.name, found.shape, found.classes) == ("cifar10", (32, 32, 3), 10)
    assert found.training_labels.tolist() == [0, 9, 1, 9, 2, 9, 3, 9, 4, 9]
    assert found.test_labels.tolist() == [5, 9]
    assert found.training_images.shape == (10, 32, 32, 3)
    red, green, blue = written[0][0].reshape(3, 32, 32)
    assert (found.training_images[0] == np.stack([red, green, blue], axis=-1)).all()
    assert (found.test_images[1] == written[5][1].reshape(3, 32, 32).transpose(1, 2, 0)).all()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>",
        pickle.dumps({b"data": planes(1, 2)}),
        pickle.dumps({b"data": planes(1, 2), b"labels": [1]}),
        pickle.dumps({b"data": planes(1, 2)[:, :9], b"labels": [1, 2]}),
        pickle.dumps(planes(1, 2))[:-40],
    ],
    ids=range(6),
)
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    write(tmp_path / "data")
    (tmp_path / "data" / "data_batch_3").write_bytes(content)
    with pytest.raises(TrainingError, match=r"/data_batch_3: no file of CIFAR-10, or damaged"):
        load(tmp_path / "data")


class Harmful:
    def __reduce__(self) -> Any:
        return Path.touch, (Path("ran"),)


def test_a_pickle_that_would_run_code_is_refused_and_runs_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "data")
    (tmp_path / "data" / "test_batch").write_bytes(pickle.dumps(Harmful()))
    with pytest.raises(TrainingError, match="which is no data"):
        load(tmp_path / "data")
    assert not (tmp_path / "ran").exists()


def test_without_files_the_message_says_where_was_looked_and_what_the_download_said(
    tmp_path: Path,
) -> None:
    def download() -> Any:
        raise Exception("URL fetch failure")

    with pytest.raises(TrainingError, match=r"data_batch_1 to .*Looked in no folder.*URL fetch"):
        published.load_cifar10([], download)
    with pytest.raises(TrainingError, match=r"Looked in .*absent \(--data-dir\)"):
        load(tmp_path / "absent")
