from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entrypoints.lib.data import mnist_files, published
from entrypoints.lib.errors import TrainingError
from entrypoints.lib.places import Place

from ..mnist_format import idx, write_data_set

IMAGES = np.arange(5 * 4 * 3, dtype=np.uint8).reshape(5, 4, 3)
LABELS = np.array([0, 1, 2, 1, 6], dtype=np.uint8)
SMALL = ((IMAGES, LABELS), (IMAGES[:2], LABELS[:2]))


def place(folder: Path) -> Place:
    return Place(str(folder), "SM_CHANNEL_TRAINING")


@pytest.mark.parametrize("zipped", [True, False])
def test_a_folder_in_mnists_format_is_read_as_it_was_written(tmp_path: Path, zipped: bool) -> None:
    write_data_set(tmp_path, *SMALL, zipped=zipped)
    found = published.load_mnist_files("fashion-mnist", [place(tmp_path)], None)
    assert (found.training_images[..., 0] == IMAGES).all()
    assert found.training_labels.tolist() == LABELS.tolist()
    assert (found.test_images[..., 0] == IMAGES[:2]).all()
    assert found.shape == (4, 3, 1)
    assert found.classes == 7
    assert found.origin == str(tmp_path)


def test_the_first_folder_that_has_all_four_files_is_taken(tmp_path: Path) -> None:
    for name in ("empty", "part", "whole"):
        (tmp_path / name).mkdir()
    write_data_set(tmp_path / "part", *SMALL)
    (tmp_path / "part" / "t10k-labels-idx1-ubyte.gz").unlink()
    write_data_set(tmp_path / "whole", *SMALL)
    folders = [place(tmp_path / name) for name in ("absent", "empty", "part", "whole")]
    assert published.load_mnist_files("fashion-mnist", folders, None).origin == str(
        tmp_path / "whole"
    )


def test_the_download_is_made_only_where_no_folder_has_the_files(tmp_path: Path) -> None:
    calls: list[str] = []

    def download() -> Any:
        calls.append("called")
        return SMALL

    write_data_set(tmp_path / "here", *SMALL)
    published.load_mnist_files("fashion-mnist", [place(tmp_path / "here")], download)
    assert calls == []
    found = published.load_mnist_files("fashion-mnist", [place(tmp_path / "absent")], download)
    assert calls == ["called"]
    assert found.shape == (4, 3, 1)


def test_without_files_the_message_names_them_and_every_folder_that_was_looked_in(
    tmp_path: Path,
) -> None:
    def download() -> Any:
        raise Exception("URL fetch failure")

    folders = [Place("/a", "SM_CHANNEL_TRAINING"), Place("/b", "the package")]
    with pytest.raises(TrainingError) as error:
        published.load_mnist_files("fashion-mnist", folders, download)
    for part in (
        "train-images-idx3-ubyte.gz",
        "t10k-labels-idx1-ubyte.gz",
        "/a (SM_CHANNEL_TRAINING)",
        "/b (the package)",
        "--data-dir",
        "URL fetch failure",
    ):
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("train-images-idx3-ubyte.gz", gzip.compress(idx(IMAGES))[:-20], "damaged gzip file"),
        ("train-images-idx3-ubyte.gz", b"<html>no such file</html>", "begins with b'<htm'"),
        ("train-images-idx3-ubyte.gz", idx(IMAGES)[:-1], "holds 59 bytes behind its header"),
        ("train-images-idx3-ubyte.gz", idx(IMAGES)[:15], "ends within its header"),
        ("train-images-idx3-ubyte.gz", b"", "begins with b''"),
        ("train-images-idx3-ubyte.gz", idx(LABELS), "expected images"),
        ("train-labels-idx1-ubyte.gz", idx(IMAGES), "expected labels"),
        ("train-labels-idx1-ubyte.gz", idx(LABELS[:4]), "holds 5 images and"),
        ("t10k-images-idx3-ubyte.gz", idx(IMAGES[:2, :, :2]), "of one size"),
    ],
    # Not by the content, which holds the time of its compression.
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_is_damaged_or_another_is_named_with_what_is_wrong(
    tmp_path: Path, name: str, content: bytes, expected: str
) -> None:
    write_data_set(tmp_path, *SMALL)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TrainingError) as error:
        published.load_mnist_files("fashion-mnist", [place(tmp_path)], None)
    assert expected in str(error.value)
    assert str(tmp_path) in str(error.value)


def test_the_usual_names_of_the_files_are_all_known(tmp_path: Path) -> None:
    write_data_set(tmp_path, *SMALL, zipped=False)
    for path in list(tmp_path.iterdir()):
        path.rename(tmp_path / path.name.replace("-idx", ".idx"))
    assert mnist_files.find(str(tmp_path)) is not None
