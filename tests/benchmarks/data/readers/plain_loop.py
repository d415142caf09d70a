"""Conversion as a plain loop: each file read, the recipe's pictures made, rows written by pyarrow.

The same work on each picture as convert_images.py, in one process; no hashes, splits or manifest.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from lib.pictures import decoding
from lib.pictures.recipe import Recipe


def main() -> None:
    """Say the seconds as a JSON line; imports are not in them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("images", type=Path)
    parser.add_argument("out")
    parser.add_argument("--size", type=int)
    parser.add_argument("--copies", type=int, default=0)
    asked = parser.parse_args()
    size = (asked.size, asked.size) if asked.size else None
    recipe = Recipe(size, augment=("crop", "flip"), copies=asked.copies)
    begin = time.perf_counter()
    schema = pa.schema([("label", pa.int64()), ("content", pa.binary()), ("path", pa.string())])
    rows: list[tuple[int, bytes, str]] = []
    with pq.ParquetWriter(asked.out, schema, compression="none", use_dictionary=False) as writer:
        for label, folder in enumerate(sorted(asked.images.iterdir())):
            for file in sorted(folder.iterdir()):
                content = file.read_bytes()
                name = f"{folder.name}/{file.name}"
                header = decoding.looked_at(content)
                made = recipe.pictures(content, name, header)
                rows += [(label, bytes_, path) for path, bytes_ in made]
                if len(rows) >= 256:
                    _write(writer, rows)
                    rows = []
        _write(writer, rows)
    print(json.dumps({"seconds": time.perf_counter() - begin}))


def _write(writer: pq.ParquetWriter, rows: list[tuple[int, bytes, str]]) -> None:
    if rows:
        columns = [list(column) for column in zip(*rows, strict=True)]
        writer.write_table(pa.table(columns, schema=writer.schema))


if __name__ == "__main__":
    main()
