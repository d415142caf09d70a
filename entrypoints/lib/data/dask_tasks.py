"""What a Dask worker does for a rank: reads rows of Parquet, decodes, augments, stacks them.

Arguments are plain values and results arrays: this module has another name on a worker
(dask_code.py), so that no object of a class of ours could travel, and a scheduler needs no NumPy.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Mapping, Sequence

import numpy as np

from .. import places
from ..arrays import Array
from ..pictures import augmenting, decoding, resizing
from . import layout, parquet_place
from .parquet_files import refuse_nulls

CACHE_BYTES = 256 * 2**20  # of encoded pictures, in a worker's process


def look(address: str, files: Sequence[tuple[str, int]]) -> tuple[str, str]:
    """(why this worker cannot make batches of the place or "", its release of Pillow).

    Args:
        address: Of the place.
        files: Some of its files, below it, and how many row groups each has.
    """
    try:
        import PIL
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        return f"{error}; expected pyarrow and Pillow. pip install pyarrow Pillow", ""
    try:
        for file, groups in files:
            found = _opened(address, file).num_row_groups
            if found != groups:
                return f"{file} has {found} row groups there and {groups} here", ""
    except Exception as error:  # what a storage can say
        return f"it cannot read {address}: {_line(error)}", ""
    return "", str(PIL.__version__)


def augmented(
    address: str,
    parts: Sequence[tuple[str, int, Sequence[int]]],
    order: Sequence[int],
    names: Sequence[int],
    how: Mapping[str, Any],
) -> tuple[Array, Array]:
    """(pictures, labels) of a batch: uint8 (n, height, width, channels) and int64 (n,).

    Args:
        address: Of the place.
        parts: File below it, number of its row group, and the rows wanted of that.
        order: Places (n of them) of the batch's pictures in the rows of all ``parts``, one after
            the other.
        names: The n row numbers in the data, by which a picture's augmentation is drawn.
        how: "size" (width, height), "fit", "channels" (1 or 3), "augment", "seed", "epoch",
            "pillow" (the release that all workers have).

    Raises:
        RuntimeError: One line says what cannot be read or decoded.
    """
    import PIL

    if PIL.__version__ != how["pillow"]:
        raise RuntimeError(
            f"a worker has Pillow {PIL.__version__}, the others {how['pillow']}: pixels may differ"
        )
    try:
        return _augmented(address, parts, order, names, how)
    except Exception as error:  # its class may not be known where this ends
        raise RuntimeError(_line(error)) from None


def _augmented(
    address: str,
    parts: Sequence[tuple[str, int, Sequence[int]]],
    order: Sequence[int],
    names: Sequence[int],
    how: Mapping[str, Any],
) -> tuple[Array, Array]:
    places_of_rows = [(file, group, row) for file, group, rows in parts for row in rows]
    labels, pictures = [], []
    for place, name in zip(order, names):
        file, group, row = places_of_rows[place]
        of_group = GROUPS.get(address, file, group)
        labels.append(of_group.column(0)[row].as_py())
        content = of_group.column(1)[row].as_py()
        try:
            pictures.append(picture(content, name, how))
        except Exception as error:
            raise ValueError(f"{file}, row group {group}, row {row}: {_line(error)}") from error
    return np.stack(pictures), np.asarray(labels, dtype=np.int64)


def picture(content: bytes, name: int, how: Mapping[str, Any]) -> Array:
    """One picture, decoded, resized and augmented: uint8 (height, width, channels).

    The same, whoever computes it and however often: what is drawn depends on seed, epoch and name.
    """
    (width, height), fit = how["size"], how["fit"]
    image = decoding.decoded(content, decoding.looked_at(content), (width, height), fit)
    image = image.convert("L" if how["channels"] == 1 else "RGB")
    if how["augment"]:
        source = augmenting.draws(how["seed"], str(name), how["epoch"])
        image = augmenting.augmented(image, how["augment"], source, (width, height), fit)
    else:
        image = resizing.resized(image, (width, height), fit)
    return np.asarray(image, dtype=np.uint8).reshape(height, width, how["channels"])


class Groups:
    """The row groups that were read last, bounded in bytes; for all threads of a worker."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str, int], Any] = OrderedDict()
        self._reading: dict[tuple[str, str, int], threading.Lock] = {}

    def get(self, address: str, file: str, group: int) -> Any:
        """A row group as a pyarrow table of label and content; read once by all who ask now."""
        key = (address, file, group)
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
            reading = self._reading.setdefault(key, threading.Lock())
        with reading:
            with self._lock:
                found = self._kept.get(key)
            if found is None:
                columns = [layout.LABEL, layout.CONTENT]
                read = _opened(address, file).read_row_group(group, columns=columns)
                found = read.select(columns).combine_chunks()
                for column in columns:
                    refuse_nulls(file, group, column, found.column(column).null_count)
                self._keep(key, found)
        return found

    def _keep(self, key: tuple[str, str, int], table: Any) -> None:
        with self._lock:
            self._kept[key] = table
            self._reading.pop(key, None)
            held = sum(kept.nbytes for kept in self._kept.values())
            while held > self._most and len(self._kept) > 1:
                held -= self._kept.popitem(last=False)[1].nbytes


GROUPS = Groups(CACHE_BYTES)


def _opened(address: str, file: str) -> Any:
    filesystem, root = parquet_place.filesystem_of(places.on_this_machine(address))
    return parquet_place.open_file(filesystem, f"{root}/{file}")


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def parts_of(rows: Sequence[tuple[str, int, int]]) -> tuple[list[Any], list[int]]:
    """(``parts``, ``order``) of ``augmented`` for a batch's (file, row group, row in it)."""
    places_of_groups: dict[tuple[str, int], list[int]] = {}
    for number, (file, group, _) in enumerate(rows):
        places_of_groups.setdefault((file, group), []).append(number)
    parts, order = [], [0] * len(rows)
    count = 0
    for (file, group), numbers in places_of_groups.items():
        parts.append((file, group, [rows[number][2] for number in numbers]))
        for number in numbers:
            order[number] = count
            count += 1
    return parts, order
