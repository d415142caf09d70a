"""Opens Parquet files of pictures, and reads what their footers say. pyarrow is imported on use."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Iterator

import numpy as np

from ..arrays import Array
from ..errors import TrainingError
from ..object_stores import opened, said
from . import layout

MAKE_ANEW = "Make it again with `launch data parquet`, or copy it again."
MOST_CLASSES = 1_000_000  # a label above is no class number (an identifier, a hash)


def filesystem_of(address: str) -> tuple[Any, str]:
    """(pyarrow file system, path in it) of a folder of this machine or an address like s3://."""
    from pyarrow import fs

    if "://" in address:
        return opened(address)
    return fs.LocalFileSystem(), os.path.abspath(address)


def is_file(filesystem: Any, path: str) -> bool:
    """Whether ``path`` is a file."""
    from pyarrow import fs

    return bool(filesystem.get_file_info(path).type == fs.FileType.File)


def open_file(filesystem: Any, path: str) -> Any:
    """The pyarrow.parquet.ParquetFile; its columns are checked."""
    import pyarrow.parquet as pq

    with reading(path):
        opened = pq.ParquetFile(filesystem.open_input_file(path), memory_map=False)
        _check_columns(path, opened.schema_arrow)
        return opened


@contextlib.contextmanager
def reading(address: str) -> Iterator[None]:
    """What pyarrow and the system raise while ``address`` is read becomes one line.

    Raises:
        TrainingError: Instead of OSError and pyarrow's errors.
    """
    try:
        import pyarrow as pa
    except ImportError as error:
        raise TrainingError(
            f"{address}: Parquet is read with pyarrow, which cannot be imported ({error}). "
            "Install it: pip install pyarrow"
        ) from error
    try:
        yield
    except PermissionError as error:
        raise TrainingError(
            f"{address}: may not be read ({_line(error)}). Give this user or role read access."
        ) from error
    except pa.ArrowInvalid as error:
        raise TrainingError(
            f"{address}: no whole Parquet file ({_line(error)}). {MAKE_ANEW}"
        ) from error
    except (OSError, pa.ArrowException) as error:
        raise TrainingError(f"{address}: cannot be read ({_line(error)}). {MAKE_ANEW}") from error


def _line(error: BaseException) -> str:
    return said(error)[:300]


def footer(filesystem: Any, path: str, about: Any) -> tuple[list[int], int, int]:
    """(rows of each row group, bytes of content, highest label) of a file."""
    # By their whole paths: a column of a struct can have the same name.
    names = [about.schema.column(number).path for number in range(about.num_columns)]
    content, label = names.index(layout.CONTENT), names.index(layout.LABEL)
    rows, size, lowest, highest = [], 0, 0, -1
    for number in range(about.num_row_groups):
        group = about.row_group(number)
        rows.append(group.num_rows)
        size += group.column(content).total_uncompressed_size
        for column in (label, content):
            known = group.column(column).statistics
            if known is not None and known.has_null_count:
                refuse_nulls(path, number, names[column], known.null_count)
        low, high = _label_range(filesystem, path, number, group.column(label).statistics)
        lowest, highest = min(lowest, low), max(highest, high)
    if lowest < 0:
        raise TrainingError(f"{path}: label {lowest}; expected labels from 0 on. {MAKE_ANEW}")
    if highest >= MOST_CLASSES:
        raise TrainingError(
            f"{path}: label {highest}; expected labels that are numbered from 0 on, at most "
            f"{MOST_CLASSES} classes"
        )
    return rows, size, highest


def refuse_nulls(path: str, group: int, column: str, count: int) -> None:
    """Raises TrainingError where a column of a row group has that many nulls."""
    if count:
        raise TrainingError(
            f"{path}: row group {group} has {count} rows without {column} (null); expected a label "
            "and a picture in each row. Leave these rows out where the file is made (pandas: "
            f"dropna(subset=['{column}'])), or make the place with `launch data parquet`."
        )


def _label_range(filesystem: Any, path: str, group: int, statistics: Any) -> tuple[int, int]:
    if statistics is not None and statistics.has_min_max:
        return int(statistics.min), int(statistics.max)
    labels = _labels(filesystem, path, group)
    return (int(labels.min()), int(labels.max())) if len(labels) else (0, -1)


def _labels(filesystem: Any, path: str, group: int) -> Array:
    labels = open_file(filesystem, path).read_row_group(group, columns=[layout.LABEL]).column(0)
    refuse_nulls(path, group, layout.LABEL, labels.null_count)
    return np.asarray(labels.to_numpy())


def is_one_class(filesystem: Any, paths: list[str], highest: int) -> bool:
    """Whether every label is ``highest``; the first other one ends the search."""
    for path in paths:
        count = open_file(filesystem, path).num_row_groups
        if any((_labels(filesystem, path, group) != highest).any() for group in range(count)):
            return False
    return True


def _check_columns(path: str, schema: Any) -> None:
    from pyarrow import types

    wanted = ((layout.LABEL, types.is_integer, "integer"), (layout.CONTENT, _is_content, "binary"))
    for name, fits, kind in wanted:
        if schema.names.count(name) != 1 or not fits(schema.field(name).type):
            found = ", ".join(f"{one.name} {one.type}" for one in schema)
            raise TrainingError(
                f"{path}: its columns are {found[:300] or 'none'}; expected one {name} ({kind}) "
                f"among them. {_mended(path, name, schema)}"
            )


def _mended(path: str, name: str, schema: Any) -> str:
    """How a file comes to the column that it lacks."""
    from pyarrow import types

    if f"/{name}=" in path and name not in schema.names:
        return f"Write it into the files, too: the folder's name ({name}=...) is no column."
    if name == layout.LABEL and name in schema.names:
        return "Number the classes from 0 on (pandas: column.astype('category').cat.codes)."
    for column in schema if name == layout.CONTENT else ():
        fields = list(column.type) if types.is_struct(column.type) else []
        inner = next((one.name for one in fields if _is_content(one.type)), None)
        if inner is not None:
            made = f"pyarrow.compute.struct_field(table['{column.name}'], '{inner}')"
            return f"Write the field {inner} of {column.name} as {name}: {made}."
    return "Convert the pictures with `launch data parquet`, or rename the columns."


def _is_content(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_binary(kind) or types.is_large_binary(kind))
