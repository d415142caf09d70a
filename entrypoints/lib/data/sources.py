"""Gets the data set that the settings name, from where this host has it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from typing import Any, Callable, Iterator, Mapping

from .. import places
from ..arguments import Settings
from ..errors import TrainingError
from ..places import Place
from . import digits, published, whole_path
from .class_folders import MORE, find
from .dataset import DataSet
from .in_memory import Images

# Kinds that TensorFlow alone reads, and what to take instead.
WITH_TENSORFLOW = {
    "tfds": "its records are read by TensorFlow. Convert its pictures with `launch data parquet` "
    "and add --data parquet:PLACE",
}


def load(settings: Settings, arrays: bool = False) -> DataSet:
    """The data set; small ones are read into memory. May download, one process of a machine at a
    time.

    Args:
        settings: Which one, and where it lies.
        arrays: For a framework without TensorFlow, which is then not imported: the data set gives
            NumPy arrays alone (``Course.arrays``, ``DataSet.test_arrays``), Pillow decodes, and
            nothing is downloaded.

    Raises:
        TrainingError: It is nowhere, or damaged, or nothing can be trained or tested on it.
    """
    if arrays and settings.data in WITH_TENSORFLOW:
        raise TrainingError(f"--data {settings.data}: {WITH_TENSORFLOW[settings.data]}.")
    return _LOADERS[settings.data](settings, arrays)


def _digits(settings: Settings, arrays: bool) -> DataSet:
    return _sized(digits.load_digits(), settings)


def _fashion_mnist(settings: Settings, arrays: bool) -> DataSet:
    folders = _folders(settings)
    if not settings.data_dir:
        installed = Place(places.INSTALLED_FASHION_MNIST, "the package dataset-fashion-mnist")
        folders.append(installed)
    download = _download(settings, "fashion_mnist", arrays)
    return _sized(published.load_mnist_files("fashion-mnist", folders, download), settings)


def _mnist_files(settings: Settings, arrays: bool) -> DataSet:
    return _sized(published.load_mnist_files("mnist-files", [_place(settings)], None), settings)


def _cifar10(settings: Settings, arrays: bool) -> DataSet:
    download = _download(settings, "cifar10", arrays)
    return _sized(published.load_cifar10(_folders(settings), download), settings)


def _images(settings: Settings, arrays: bool) -> DataSet:
    place = _place(settings)
    beside = places.test_place(place, os.environ)
    found = find(place.path, beside.path if beside else None)
    origin = place.path
    if found.others:
        origin += f" (pictures of other formats that are left out: {found.others}; {MORE})"
    return _encoded("images", origin, found, settings, arrays)


def _tfds(settings: Settings, arrays: bool) -> DataSet:
    from . import tfds_files

    def prepare(folder: str) -> None:
        with _one_process_of_this_machine("tensorflow-datasets-download"):
            tfds_files.prepare(str(settings.place), folder)

    found = tfds_files.find(str(settings.place), settings.data_dir, os.environ, prepare)
    return _encoded("tfds", found.folder, found, settings, arrays)


def _encoded(name: str, origin: str, found: Any, settings: Settings, arrays: bool) -> DataSet:
    kind: Any
    if arrays:
        from . import decoded

        kind = decoded.DecodedPictures
    else:
        from . import encoded

        kind = encoded.EncodedPictures
    made: DataSet = kind(
        name,
        origin,
        found.class_names,
        found.training.first(settings.limit),
        found.test,
        settings.image_size,
        scaled=settings.decode == "scaled",
    )
    return made


def _parquet(settings: Settings, arrays: bool) -> DataSet:
    place = _place(settings)
    beside = places.test_place(place, os.environ)
    kind: Any
    if arrays:  # pyarrow is not in every image
        from . import decoded_place

        kind = decoded_place.DecodedPlace
    else:
        from . import streamed

        kind = streamed.StreamedPictures
    made: DataSet = kind(place.path, beside.path if beside else None, settings)
    return made


def _augment(settings: Settings, arrays: bool) -> DataSet:
    place = _place(settings)
    beside = places.test_place(place, os.environ)
    kind: Any
    if arrays:
        from . import augmented_arrays

        kind = augmented_arrays.AugmentedArrays
    else:
        from . import augmented

        kind = augmented.AugmentedPictures
    made: DataSet = kind(place.path, beside.path if beside else None, settings)
    return made


_LOADERS: Mapping[str, Callable[[Settings, bool], DataSet]] = {
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
    if settings.data_dir:
        whole_path.check(settings.data_dir, "--data-dir ", os.environ)
    return places.data_folders(settings.data_dir, os.environ)


def _place(settings: Settings) -> Place:
    found = places.data_place(settings.place, settings.data_dir, os.environ)
    if found is None:
        raise TrainingError(
            f"--data {settings.data}: no place is named. Give --data {settings.data}:PLACE, "
            "--data-dir or an input channel (SM_CHANNEL_TRAINING)."
        )
    if found.named_by in ("--data", "--data-dir"):
        flag = f"--data {settings.data}:" if settings.place else "--data-dir "
        whole_path.check(found.path, flag, os.environ)
    return found


def _download(settings: Settings, name: str, arrays: bool) -> Callable[[], Any] | None:
    """Keras's own download into its cache; who waited for the lock finds the files there.

    A folder that the user named is not silently replaced by a download.
    """
    if settings.data_dir or arrays:
        return None

    def download() -> Any:
        import tensorflow as tf

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
