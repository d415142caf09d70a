"""Data sets that are published as files of their own formats: found in folders, else fetched."""

from __future__ import annotations

from typing import Callable, Tuple

import numpy as np

from ..errors import TrainingError
from ..places import Place
from . import cifar_files, mnist_files
from .in_memory import Images, Split

Splits = Tuple[Split, Split]  # training and test
Download = Callable[[], Splits]


def load_mnist_files(name: str, folders: list[Place], download: Download | None) -> Images:
    """60,000 training and 10,000 test images of clothes, 28x28 pixels, or the same in form.

    Args:
        name: The kind, for messages.
        folders: Where the four MNIST-format files are looked for, in order.
        download: Called when no folder has them; gives ((images, labels), (images, labels)) as
            ``keras.datasets.fashion_mnist.load_data`` does. May take minutes. None forbids it.

    Raises:
        TrainingError: They are nowhere, or what is there is damaged.
    """
    for place in folders:
        try:
            files = mnist_files.find(place.path)
            if files is None:
                continue
            training = mnist_files.read_split(files["train-images"], files["train-labels"])
            test = mnist_files.read_split(files["t10k-images"], files["t10k-labels"])
        except OSError as error:
            raise TrainingError(
                f"{place.path} ({place.named_by}) cannot be read: {error}"
            ) from error
        return _images(name, place.path, training, test)
    training, test = _downloaded(_nowhere(name, folders), download)
    return _images(
        name,
        "Keras's download",
        (training[0][..., np.newaxis], training[1].astype(np.int64)),
        (test[0][..., np.newaxis], test[1].astype(np.int64)),
    )


def load_cifar10(folders: list[Place], download: Download | None) -> Images:
    """50,000 training and 10,000 test images of ten kinds of things, 32x32 pixels in colour.

    Args:
        folders: Where the files are looked for, in order.
        download: As ``keras.datasets.cifar10.load_data``; None forbids it.

    Raises:
        TrainingError: They are nowhere, or what is there is damaged.
    """
    for place in folders:
        try:
            found = cifar_files.find(place.path)
            if found is None:
                continue
            training, test = cifar_files.read(found)
        except OSError as error:
            raise TrainingError(
                f"{place.path} ({place.named_by}) cannot be read: {error}"
            ) from error
        return _images("cifar10", place.path, training, test)
    looked = ", ".join(f"{place.path} ({place.named_by})" for place in folders) or "no folder"
    nowhere = (
        "--data cifar10: no folder has the files data_batch_1 to data_batch_5 and test_batch. "
        f"Looked in {looked}. Give the folder with --data-dir."
    )
    training, test = _downloaded(nowhere, download)
    return _images(
        "cifar10",
        "Keras's download",
        (training[0], training[1].reshape(-1).astype(np.int64)),
        (test[0], test[1].reshape(-1).astype(np.int64)),
    )


def _downloaded(nowhere: str, download: Download | None) -> Splits:
    if download is None:
        raise TrainingError(nowhere)
    try:
        return download()
    except Exception as error:  # Keras raises a bare Exception for a failed download
        raise TrainingError(f"{nowhere} Keras's own download failed too: {error}") from error


def _images(name: str, origin: str, training: Split, test: Split) -> Images:
    if training[0].shape[1:] != test[0].shape[1:] or not len(training[1]) or not len(test[1]):
        raise TrainingError(
            f"{origin}: training images are {training[0].shape[:3]} and test images "
            f"{test[0].shape[:3]}; expected some of each, of one size"
        )
    classes = int(max(training[1].max(), test[1].max())) + 1
    if classes < 2:
        raise TrainingError(
            f"{origin}: all images are of one class; expected labels of at least two"
        )
    return Images(
        name=name,
        origin=origin,
        training_images=training[0],
        training_labels=training[1],
        test_images=test[0],
        test_labels=test[1],
        classes=classes,
        brightest=255,
    )


def _nowhere(name: str, folders: list[Place]) -> str:
    files = ", ".join(mnist_files.allowed_names(part)[0] for part in mnist_files.PARTS)
    looked = ", ".join(f"{place.path} ({place.named_by})" for place in folders)
    package = (
        ", or install Debian's package dataset-fashion-mnist" if name == "fashion-mnist" else ""
    )
    return (
        f"--data {name}: no folder has the four files {files}. Looked in {looked}. Give the "
        f"folder with --data-dir{package}."
    )
