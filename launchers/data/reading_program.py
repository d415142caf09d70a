"""What runs in the Python for data and reads a place there: pyarrow, and Pillow for the sheet.

`python reading_program.py` reads a JSON object, the request, from standard input, and prints its
answer, another. The request's `task` is `look` (what a remote place has), `hash` (SHA-256 of
files), `rows` (of a folder of Parquet files without a manifest) or `sheet` (a contact sheet). An
answer with the key `error` says why there is none: the rule, the place, and what was found. Python
3.8's syntax; nothing of ours is imported but the neighbour that draws.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from typing import Any

MANIFEST, UNFINISHED = "manifest.json", "_conversion"
MOST_CLASSES = 1_000_000  # the loader's: entrypoints/lib/data/parquet_files.py
_CHUNK = 1 << 20
# Bytes of pictures that are read without being asked for, and rows of them at once.
_MOST_READ, _ROWS_AT_ONCE = 64 << 20, 64


class RefusedError(Exception):
    """The answer's error."""

    def __init__(self, rule: str, place: str, found: str, expected: str | None = None) -> None:
        super().__init__(found)
        self.rule, self.place, self.found, self.expected = rule, place, found, expected


def main() -> None:
    """Answer the request on standard input."""
    request = json.load(sys.stdin)
    tasks: Any = {"look": look, "hash": hashes, "rows": rows, "sheet": sheet}
    task = tasks[request.pop("task")]
    try:
        answer = task(**request)
    except RefusedError as error:
        answer = {"error": vars(error)}
    print(json.dumps(answer), flush=True)


def look(place: str) -> dict[str, Any]:
    """``{"manifest": its text or null, "unfinished": bool, "sizes": {name: bytes}}``."""
    system, root = opened(place)
    sizes = listed(system, root, place)
    manifest = None
    if MANIFEST in sizes:
        with system.open_input_stream(f"{root}/{MANIFEST}") as stream:
            manifest = stream.read().decode("utf-8", "replace")
    unfinished = any(name.startswith(UNFINISHED + "/") for name in sizes)
    return {"manifest": manifest, "unfinished": unfinished, "sizes": sizes}


def hashes(place: str, names: list[str]) -> dict[str, str]:
    """The SHA-256 of each file below the place, or why it has none."""
    system, root = opened(place)
    found = {}
    for name in names:
        digest = hashlib.sha256()
        try:
            with system.open_input_stream(f"{root}/{name}") as stream:
                for chunk in iter(lambda: stream.read(_CHUNK), b""):
                    digest.update(chunk)
            found[name] = digest.hexdigest()
        except OSError as error:
            found[name] = reason(error)
    return found


def rows(place: str, names: list[str], whole: bool = False) -> dict[str, Any]:
    """``{"files": [{"name", "rows", "bytes", "row_groups", "counts": {label: rows}}], "unread"}``;
    footers and labels are read, and pictures where only that tells nulls: a few, or ``whole``.
    ``unread`` is the number of row groups of which these aren't known."""
    import pyarrow.compute as compute

    system, root = opened(place)
    files = []
    untold = []
    for name in names:
        path = f"{root}/{name}"
        file = checked(system, path, name)
        groups = [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)]
        try:
            labels = file.read(columns=["label"])["label"]
        except (OSError, ValueError) as error:
            raise RefusedError("data-files", name, reason(error)) from error
        check_labels(labels, name)
        untold += [(path, name, group, size) for group, size in untold_groups(file, name)]
        counts = {one["values"]: one["counts"] for one in compute.value_counts(labels).to_pylist()}
        about = {"name": name, "rows": sum(groups), "bytes": system.get_file_info(path).size}
        files.append({**about, "row_groups": groups, "counts": counts})
    read = untold if whole or sum(size for *_, size in untold) <= _MOST_READ else []
    for path, name, group, _ in read:
        check_content(checked(system, path, name), group, name)
    return {"files": files, "unread": len(untold) - len(read)}


def check_labels(labels: Any, name: str) -> None:
    """Raises RefusedError where a column of labels has nulls, or numbers that are no classes'."""
    import pyarrow.compute as compute

    if labels.null_count:
        raise without(labels.null_count, "label", name)
    least, most = compute.min_max(labels).as_py().values()
    for label in (least, most):
        if label is not None and not 0 <= label < MOST_CLASSES:
            expected = f"labels that are numbered from 0 on, at most {MOST_CLASSES:,} classes"
            raise RefusedError("data-columns", name, f"label {label}", expected)


def untold_groups(file: Any, name: str) -> list[tuple[int, int]]:
    """(number, bytes) of the row groups whose footer doesn't say how many pictures are null.

    Raises:
        RefusedError: One says that some are.
    """
    about = file.metadata
    paths = [about.schema.column(number).path for number in range(about.num_columns)]
    content = paths.index("content")
    if about.schema.column(content).max_definition_level == 0:  # never null
        return []
    found = []
    for number in range(about.num_row_groups):
        column = about.row_group(number).column(content)
        told = column.statistics
        if told is None or not told.has_null_count:
            found.append((number, column.total_compressed_size))
        elif told.null_count:
            raise without(told.null_count, "content", name)
    return found


def check_content(file: Any, group: int, name: str) -> None:
    """Raises RefusedError where pictures of a row group are null. Reads all of them."""
    try:
        batches = file.iter_batches(_ROWS_AT_ONCE, row_groups=[group], columns=["content"])
        missing = sum(batch.column(0).null_count for batch in batches)
    except (OSError, ValueError) as error:
        raise RefusedError("data-files", name, reason(error)) from error
    if missing:
        raise without(missing, "content", name)


def without(count: int, column: str, name: str) -> RefusedError:
    """So many rows of a file lack that column's value."""
    found = f"{count:,} {'row' if count == 1 else 'rows'} without {column}"
    return RefusedError("data-columns", name, found, "a label and a picture in each row")


def checked(system: Any, path: str, name: str) -> Any:
    """An open Parquet file with the columns of pictures.

    Raises:
        RefusedError: It is none, is cut short, or has other columns.
    """
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        file = parquet.ParquetFile(path, filesystem=system)
    except (OSError, ValueError) as error:
        raise RefusedError("data-files", name, reason(error)) from error
    schema = file.schema_arrow
    types = {field.name: field.type for field in schema if schema.names.count(field.name) == 1}
    label, content = types.get("label"), types.get("content")
    has_bytes = content is not None and (
        pa.types.is_binary(content) or pa.types.is_large_binary(content)
    )
    if label is None or not pa.types.is_integer(label) or not has_bytes:
        columns = ", ".join(f"{field.name} {field.type}" for field in schema)
        raise RefusedError("data-columns", name, f"columns {columns}"[:300])
    return file


def sheet(**request: Any) -> dict[str, Any]:
    """See :mod:`sheet_program`, which lies beside this file."""
    import sheet_program  # type: ignore[import-not-found]

    answer: dict[str, Any] = sheet_program.sheet(sys.modules[__name__], **request)
    return answer


def opened(place: str) -> tuple[Any, str]:
    """(pyarrow's file system, path there) of a folder or of an s3:// or gs:// address."""
    from pyarrow import fs

    try:
        if "://" in place:
            system, root = fs.FileSystem.from_uri(place)
        else:
            system, root = fs.LocalFileSystem(), os.path.abspath(place)
    except (OSError, ValueError) as error:
        raise RefusedError("data-place", place, reason(error)) from error
    return system, root.rstrip("/")


def listed(system: Any, root: str, place: str) -> dict[str, int]:
    """The size of each file below the folder."""
    from pyarrow import fs

    try:
        found = system.get_file_info(fs.FileSelector(root, recursive=True))
    except OSError as error:
        raise RefusedError("data-place", place, reason(error)) from error
    files = [one for one in found if one.type == fs.FileType.File]
    return {one.path[len(root) :].lstrip("/"): one.size for one in files}


def reason(error: Exception) -> str:
    """What a library says, in one line."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:1000]


if __name__ == "__main__":
    main()
