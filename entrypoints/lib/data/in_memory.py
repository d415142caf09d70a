"""The data sets that are held in memory, each with a fixed held-out test split."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Callable, Tuple

import numpy as np

from ..arrays import Array
from ..errors import TrainingError
from ..places import Place
from . import mnist_files

Split = Tuple[Array, Array]  # images (n, rows, columns, 1) and labels (n,)

DIGITS_TEST_SHARE = 5  # one image in five is held out
DIGITS_SPLIT_SEED = 0  # not --seed: accuracies of different seeds speak of the same images


@dataclass(frozen=True)
class Images:
    """A data set in memory.

    Attributes:
        name: Its name on the command line.
        origin: Where it was found, for people.
        training_images: (n, rows, columns, 1) uint8, 0 to ``brightest``.
        training_labels: (n,) int64, 0 to ``classes`` - 1.
        test_images: As the training images; never trained on.
        test_labels: As the training labels.
        classes: Number of classes.
        brightest: The value of a white pixel.
    """

    name: str
    origin: str
    training_images: Array
    training_labels: Array
    test_images: Array
    test_labels: Array
    classes: int
    brightest: int

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, columns, 1) of an image."""
        return tuple(int(length) for length in self.training_images.shape[1:])

    def fingerprint(self) -> tuple[int, ...]:
        """Numbers that differ between data sets which are not the same in every label."""
        return (
            len(self.training_labels),
            len(self.test_labels),
            zlib.crc32(np.ascontiguousarray(self.training_labels).tobytes()),
            zlib.crc32(np.ascontiguousarray(self.test_labels).tobytes()),
        )

    def first(self, limit: int | None) -> Images:
        """The same with the first ``limit`` training images alone; all of them for None."""
        if limit is None or limit >= len(self.training_labels):
            return self
        return replace(
            self,
            training_images=self.training_images[:limit],
            training_labels=self.training_labels[:limit],
        )


def load_digits() -> Images:
    """scikit-learn's 1,797 handwritten digits of 8x8 pixels: 1,438 to train on, 359 to test.

    The set has no split of its own; this one is the same in every run.

    Raises:
        TrainingError: scikit-learn is not installed.
    """
    try:
        from sklearn import datasets
    except ImportError as error:
        raise TrainingError(
            "--data digits: the images come with scikit-learn, which cannot be imported "
            f"({error}). Install scikit-learn, or choose --data fashion-mnist."
        ) from error
    digits = datasets.load_digits()
    order = np.random.RandomState(DIGITS_SPLIT_SEED).permutation(len(digits.target))
    images = digits.images.astype(np.uint8)[order][..., np.newaxis]
    labels = digits.target.astype(np.int64)[order]
    held_out = len(labels) // DIGITS_TEST_SHARE
    return Images(
        name="digits",
        origin="scikit-learn",
        training_images=images[held_out:],
        training_labels=labels[held_out:],
        test_images=images[:held_out],
        test_labels=labels[:held_out],
        classes=10,
        brightest=16,
    )


def load_fashion_mnist(
    folders: list[Place], download: Callable[[], tuple[Split, Split]] | None
) -> Images:
    """60,000 training and 10,000 test images of clothes, 28x28 pixels, or the same in form.

    Args:
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
        return _fashion_mnist(place.path, training, test)
    if download is None:
        raise TrainingError(_nowhere(folders))
    try:
        (images, labels), (test_images, test_labels) = download()
    except Exception as error:  # Keras raises a bare Exception for a failed download
        raise TrainingError(
            f"{_nowhere(folders)} Keras's own download failed too: {error}"
        ) from error
    return _fashion_mnist(
        "Keras's download",
        (images[..., np.newaxis], labels.astype(np.int64)),
        (test_images[..., np.newaxis], test_labels.astype(np.int64)),
    )


def _fashion_mnist(
    origin: str,
    training: Split,
    test: Split,
) -> Images:
    if training[0].shape[1:] != test[0].shape[1:] or not len(training[1]) or not len(test[1]):
        raise TrainingError(
            f"{origin}: training images are {training[0].shape[:3]} and test images "
            f"{test[0].shape[:3]}; expected some of each, of one size"
        )
    return Images(
        name="fashion-mnist",
        origin=origin,
        training_images=training[0],
        training_labels=training[1],
        test_images=test[0],
        test_labels=test[1],
        classes=int(max(training[1].max(), test[1].max())) + 1,
        brightest=255,
    )


def _nowhere(folders: list[Place]) -> str:
    files = ", ".join(mnist_files.allowed_names(part)[0] for part in mnist_files.PARTS)
    looked = ", ".join(f"{place.path} ({place.named_by})" for place in folders)
    return (
        f"--data fashion-mnist: no folder has the four files {files}. Looked in {looked}. Give the "
        "folder with --data-dir, or install Debian's package dataset-fashion-mnist."
    )
