"""Small places of Parquet for the loader's tests."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from entrypoints.lib.data import layout


def write_file(path: Path, labels: list[int], content: list[bytes], group: int) -> layout.DataFile:
    """One file; the paths are "CLASS/NUMBER.jpg"."""
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = pa.schema(
        [
            pa.field(layout.LABEL, pa.int64(), nullable=False),
            pa.field(layout.CONTENT, pa.binary(), nullable=False),
            pa.field(layout.PATH, pa.string()),
        ]
    )
    names = [f"{label}/{path.stem}-{number}.jpg" for number, label in enumerate(labels)]
    table = pa.Table.from_arrays([pa.array(labels, pa.int64()), content, names], schema=schema)
    pq.write_table(table, path, row_group_size=group, compression="none")
    about = pq.read_metadata(path)
    return layout.DataFile(
        f"{path.parent.name}/{path.name}",
        len(labels),
        path.stat().st_size,
        hashlib.sha256(path.read_bytes()).hexdigest(),
        tuple(about.row_group(number).num_rows for number in range(about.num_row_groups)),
    )


def write_place(
    root: Path,
    rows: list[int],
    group: int = 4,
    classes: int = 2,
    content: list[bytes] | None = None,
) -> Path:
    """A place with a manifest and one split of a file for each number of ``rows``.

    Row n's content is its number as text, or ``content[n]``; its label n modulo ``classes``.
    """
    files, labels = [], []
    for number, count in enumerate(rows):
        first = len(labels)
        mine = [(first + row) % classes for row in range(count)]
        given = (
            content[first : first + count]
            if content
            else [str(first + row).encode() for row in range(count)]
        )
        files.append(write_file(root / "train" / f"part-{number:05d}.parquet", mine, given, group))
        labels += mine
    counts = tuple(map(labels.count, range(classes)))
    size = sum(len(one) for one in content or [b"0000"] * len(labels))
    split = layout.Split(len(labels), size, counts, tuple(files))
    names = tuple(f"class {number}" for number in range(classes))
    (root / layout.MANIFEST).write_text(layout.as_text(layout.Manifest(names, {"train": split})))
    return root
