"""The pictures of a place of Parquet that a training is tested on: never those it is trained on."""

from __future__ import annotations

import os

from .. import places
from ..errors import TrainingError
from . import layout
from .parquet_place import Pictures, filesystem_of, open_place, reading

TEST_SPLITS = ("test", "validation")


def to_test_on(training: Pictures, test_address: str | None) -> Pictures:
    """The split to test on: the first of TEST_SPLITS that is beside the one that is trained on.

    Args:
        training: What is trained on: a root's split train, a split folder, or files without splits.
        test_address: Where the pictures to test on are, if not there.

    Raises:
        TrainingError: There is none, or it has pictures that are trained on.
    """
    if test_address is None:
        return _beside(training)
    found = open_place(test_address, TEST_SPLITS[0])
    if _real(found) & _real(training):
        raise TrainingError(
            f"{test_address}: would be trained on and tested on, as {training.address} has the "
            "same files. Give another input channel to test on, or none where the place has "
            f"{' or '.join(TEST_SPLITS)}."
        )
    return found


def _beside(training: Pictures) -> Pictures:
    root, own = _root_of(training)
    for split in TEST_SPLITS:
        if split == own or not _is_there(root, split):
            continue
        try:
            found = open_place(root, split)
        except TrainingError as error:
            if "has no split" not in str(error):
                raise
            continue
        if found.split == split and not _real(found) & _real(training):
            return found
    if own in TEST_SPLITS:
        raise TrainingError(
            f"{training.address}: is trained on, and {root} has no other split to test on "
            f"({' or '.join(split for split in TEST_SPLITS if split != own)}). Give {root} or "
            f"{root}/{layout.SPLITS[0]}, which is then tested on {own}."
        )
    raise TrainingError(
        f"{training.address}: has no split to test on ({' or '.join(TEST_SPLITS)}). Convert with "
        "`launch data parquet --split 0.9,0.1`, or give an input channel named test."
    )


def _root_of(training: Pictures) -> tuple[str, str]:
    """(address of the place, split that was named); (the address, "") where none was named."""
    address = training.address.rstrip("/")
    if "://" not in address:
        address = os.path.abspath(training.address)
    root, _, name = address.rpartition("/")
    if name not in layout.SPLITS:
        return address, ""
    _, folder = filesystem_of(places.on_this_machine(address))
    if training.split and training.files[0].startswith(f"{folder}/{training.split}/"):
        return address, ""  # a place that has that name
    return root or "/", name


def _is_there(root: str, split: str) -> bool:
    """Whether the place may have that split: others' files beside it are no part of it."""
    with reading(root):
        filesystem, folder = filesystem_of(places.on_this_machine(root))
        names = (layout.MANIFEST, split)
        found = filesystem.get_file_info([f"{folder.rstrip('/')}/{name}" for name in names])
        return any(info.type.name != "NotFound" for info in found)


def _real(pictures: Pictures) -> frozenset[str]:
    """The files, whatever links they were found by."""
    if "://" in places.on_this_machine(pictures.address):
        return frozenset(pictures.files)
    return frozenset(os.path.realpath(path) for path in pictures.files)
