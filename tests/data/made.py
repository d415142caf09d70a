"""Places and pictures that tests make."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from launchers.core.shipped import library

CLASSES = ("apple pie", "bibimbap", "churros")


def place(folder: Path, rows: dict[str, Sequence[int]], classes: Sequence[str] = CLASSES) -> Path:
    """A place with one file a split, of row groups of so many rows; the files are no Parquet, since
    what reads a manifest alone does not open them."""
    layout = library("data.layout")
    splits = {}
    for name, groups in rows.items():
        file = folder / name / "part-00000.parquet"
        file.parent.mkdir(parents=True)
        content = f"the rows of {name}".encode()
        file.write_bytes(content)
        digest, total = hashlib.sha256(content).hexdigest(), sum(groups)
        told = layout.DataFile(f"{name}/{file.name}", total, len(content), digest, tuple(groups))
        counts = tuple(len(range(label, total, len(classes))) for label in range(len(classes)))
        splits[name] = layout.Split(total, 10 * total, counts, (told,))
    made = {"source": "photos", "seed": 13, "split": [0.7, 0.3], "copies": 0, "format": "keep"}
    bad = (layout.BadPicture("churros/1.jpg", "ends in the middle"),)
    text = layout.as_text(layout.Manifest(tuple(classes), splits, made, bad))
    (folder / layout.MANIFEST).write_text(text, "utf-8")
    return folder


def picture(shade: int, form: str = "JPEG", side: int = 24) -> bytes:
    """An encoded picture of one shade."""
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (side, side), (shade % 256, 255 - shade % 256, 90)).save(out, form)
    return out.getvalue()


def class_folders(folder: Path, each: int, classes: Sequence[str] = CLASSES) -> Path:
    """``each`` different pictures in a folder a class."""
    for at, name in enumerate(classes):
        (folder / name).mkdir(parents=True)
        for number in range(each):
            (folder / name / f"{number}.jpg").write_bytes(picture(at * each + number))
    return folder


def parquet(file: Path, columns: dict[str, Any], rows_per_group: int = 4, **about: Any) -> Path:
    """A Parquet file that something else made; ``about`` is for pyarrow's writer."""
    import pyarrow as pa
    import pyarrow.parquet as writing

    file.parent.mkdir(parents=True, exist_ok=True)
    writing.write_table(pa.table(columns), file, row_group_size=rows_per_group, **about)
    return file
