"""The Parquet files of one task: one a split, row group by row group, hashed while written."""

from __future__ import annotations

import hashlib
from array import array
from itertools import accumulate
from typing import Any, Sequence

from ..data.layout import CONTENT, LABEL, PATH, UNFINISHED_FOLDER, DataFile
from . import folders
from .tasks import Part

# A row group is in memory while it is filled: large originals make it shorter than asked for.
MOST_GROUP_BYTES = 128 << 20


def file_name(split: str, number: int) -> str:
    """The name of task ``number``'s file of that split, below the place."""
    return f"{split}/part-{number:05d}.parquet"


def printable(path: str) -> str:
    """A path as UTF-8, whatever the file system's bytes."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class PartWriter:
    """Writes one file; nothing is under its final name before ``finish``."""

    def __init__(self, folder: folders.Folder, name: str, rows_per_group: int) -> None:
        self.name = name
        self._folder, self._rows_per_group = folder, rows_per_group
        self._unfinished = folders.unfinished_name(UNFINISHED_FOLDER)
        self._labels: list[int] = []
        self._contents: list[bytes] = []
        self._paths: list[bytes] = []
        self._waiting = 0
        self._groups: list[int] = []
        self._bytes = 0
        self._counts: dict[int, int] = {}
        self._sink: _Hashed | None = None
        self._writer: Any = None

    def add(self, label: int, content: bytes, path: str) -> None:
        """One more row."""
        self._labels.append(label)
        self._contents.append(content)
        self._paths.append(printable(path).encode())
        self._waiting += len(content)
        self._bytes += len(content)
        self._counts[label] = self._counts.get(label, 0) + 1
        if len(self._labels) >= self._rows_per_group or self._waiting >= MOST_GROUP_BYTES:
            self._write_group()

    def finish(self) -> Part:
        """Writes what is left and gives the file its name."""
        if self._labels:
            self._write_group()
        assert self._sink is not None, "a file without rows"
        self._writer.close()
        self._sink.close()
        self._folder.finish(self._unfinished, self.name)
        groups = tuple(self._groups)
        file = DataFile(self.name, sum(groups), self._sink.written, self._sink.digest(), groups)
        return Part(file, self._bytes, self._counts)

    def discard(self) -> None:
        """Removes what was written, unless it is finished."""
        if self._sink is not None:
            self._sink.abandon()
        self._folder.remove(self._unfinished)

    def _write_group(self) -> None:
        import pyarrow as pa

        if self._writer is None:
            self._sink = _Hashed(self._folder.create(self._unfinished))
            self._writer = _parquet_writer(self._sink)
        rows = len(self._labels)
        # Not pa.array: it imports pandas, where that is installed, which takes a second.
        labels = [None, pa.py_buffer(array("q", self._labels))]
        columns = [
            pa.Array.from_buffers(pa.int64(), rows, labels),
            _texts(pa.binary(), self._contents),
            _texts(pa.string(), self._paths),
        ]
        table = pa.Table.from_arrays(columns, schema=self._writer.schema)
        self._writer.write_table(table, row_group_size=rows)
        self._groups.append(len(self._labels))
        self._labels, self._contents, self._paths, self._waiting = [], [], [], 0


def _texts(kind: Any, values: Sequence[bytes]) -> Any:
    """An Arrow array of that binary or string type; less than 2 GB in all."""
    import pyarrow as pa

    ends = array("i", [0])
    ends.extend(accumulate(map(len, values)))
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(kind, len(values), buffers)


def _parquet_writer(sink: Any) -> Any:
    """Encoded pictures don't get smaller: nothing is compressed, and only labels get statistics."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields: list[tuple[str, Any]] = [
        (LABEL, pa.int64()),
        (CONTENT, pa.binary()),
        (PATH, pa.string()),
    ]
    schema = pa.schema([pa.field(name, kind, name == PATH) for name, kind in fields])
    return pq.ParquetWriter(
        sink, schema, compression="none", use_dictionary=[LABEL], write_statistics=[LABEL]
    )


class _Hashed:
    """A file to which pyarrow writes, and the SHA-256 of what was written."""

    def __init__(self, file: Any) -> None:
        self._file, self._hash = file, hashlib.sha256()
        self.written = 0
        self.closed = False

    def write(self, content: Any) -> int:
        if self._file is None:
            return len(content)
        self._hash.update(content)
        self._file.write(content)
        self.written += len(content)
        return len(content)

    def flush(self) -> None:
        return

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            if self._file is not None:
                self._file.close()

    def abandon(self) -> None:
        """Closes the file; what pyarrow still writes at its own end goes nowhere."""
        file, self._file, self.closed = self._file, None, True
        try:
            if file is not None:
                file.close()
        except OSError:
            return

    def digest(self) -> str:
        return self._hash.hexdigest()
