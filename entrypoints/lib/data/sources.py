"""Gets the data set that the settings name, from where this host has it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from typing import Any, Callable, Iterator, Mapping

import tensorflow as tf

from .. import places
from ..arguments import Settings
from ..errors import TrainingError
from ..places import Place
from . import digits, published, tfds_files
from .class_folders import find
from .dataset import DataSet
from .encoded import EncodedPictures
from .in_memory import Images


def load(settings: Settings) -> DataSet:
    """The data set; small ones are read into memory. May download, one process of a machine at a
    time.

    Raises:
        TrainingError: It is nowhere, or damaged, or nothing can be trained or tested on it.
    """
    return _LOADERS[settings.data](settings)


def _digits(settings: Settings) -> DataSet:
    return _sized(digits.load_digits(), settings)


def _fashion_mnist(settings: Settings) -> DataSet:
    folders = _folders(settings)
    if not settings.data_dir:
        installed = Place(places.INSTALLED_FASHION_MNIST, "the package dataset-fashion-mnist")
        folders.append(installed)
    download = _download(settings, "fashion_mnist")
    return _sized(published.load_mnist_files("fashion-mnist", folders, download), settings)


def _mnist_files(settings: Settings) -> DataSet:
    return _sized(published.load_mnist_files("mnist-files", [_place(settings)], None), settings)


def _cifar10(settings: Settings) -> DataSet:
    download = _download(settings, "cifar10")
    return _sized(published.load_cifar10(_folders(settings), download), settings)


def _images(settings: Settings) -> DataSet:
    place = _place(settings)
    beside = places.test_place(place, os.environ)
    found = find(place.path, beside.path if beside else None)
    return _encoded("images", place.path, found, settings)


def _tfds(settings: Settings) -> DataSet:
    def prepare(folder: str) -> None:
        with _one_process_of_this_machine("tensorflow-datasets-download"):
            tfds_files.prepare(str(settings.place), folder)

    found = tfds_files.find(str(settings.place), settings.data_dir, os.environ, prepare)
    return _encoded("tfds", found.folder, found, settings)


def _encoded(name: str, origin: str, found: Any, settings: Settings) -> DataSet:
    return EncodedPictures(
        name,
        origin,
        found.class_names,
        found.training.first(settings.limit),
        found.test,
        settings.image_size,
        scaled=settings.decode == "scaled",
    )


def _parquet(settings: Settings) -> DataSet:
    from .streamed import StreamedPictures  # pyarrow is not in every image

    place = _place(settings)
    beside = places.test_place(place, os.environ)
    return StreamedPictures(place.path, beside.path if beside else None, settings)


def _augment(settings: Settings) -> DataSet:
    from .augmented import AugmentedPictures

    place = _place(settings)
    beside = places.test_place(place, os.environ)
    return AugmentedPictures(place.path, beside.path if beside else None, settings)


_LOADERS: Mapping[str, Callable[[Settings], DataSet]] = {
    "digits": _digits,
    "fashion-mnist": _fashion_mnist,
    "mnist-files": _mnist_files,
    "cifar10": _cifar10,
    "tfds": _tfds,
    "images": _images,
    "parquet": _parquet,
    "augment": _augment,
}


def _sized(images: Images, settings: Settings) -> Images:
    return images.first(settings.limit).resized(settings.image_size)


def _folders(settings: Settings) -> list[Place]:
    return places.data_folders(settings.data_dir, os.environ)


def _place(settings: Settings) -> Place:
    found = places.data_place(settings.place, settings.data_dir, os.environ)
    if found is None:
        raise TrainingError(
            f"--data {settings.data}: no place is named. Give --data {settings.data}:PLACE, "
            "--data-dir or an input channel (SM_CHANNEL_TRAINING)."
        )
    return found


def _download(settings: Settings, name: str) -> Callable[[], Any] | None:
    """Keras's own download into its cache; who waited for the lock finds the files there.

    A folder that the user named is not silently replaced by a download.
    """
    if settings.data_dir:
        return None

    def download() -> Any:
        with _one_process_of_this_machine(f"{name}-download"):
            return getattr(tf.keras.datasets, name).load_data()

    return download


@contextlib.contextmanager
def _one_process_of_this_machine(what: str) -> Iterator[None]:
    """Holds a lock that ranks of simulated hosts share too, which Horovod thinks are apart."""
    path = os.path.join(tempfile.gettempdir(), f"{what}-{os.getuid()}.lock")
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
