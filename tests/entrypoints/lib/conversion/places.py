"""Class folders of made pictures, conversions of them in this process or another, and what came."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from entrypoints.lib.conversion import engines, options, run, tasks, work
from entrypoints.lib.data import layout
from tests.entrypoints.lib.pictures import samples
from tests.places import ENTRYPOINTS

PROGRAM = ENTRYPOINTS / "convert_images.py"
SPLIT = ("--split", "0.7,0.2,0.1", "--seed", "13")
# Every part of a recipe at work.
FULL = (*SPLIT, "--size", "24x20", "--augment", "crop,flip,rotate,color", "--rows-per-group", "8")


def make_pictures(folder: Path, count: int, classes: Sequence[str] = ("cat", "dog")) -> Path:
    """``count`` different JPEG files in class folders."""
    for number in range(count):
        path = folder / classes[number % len(classes)] / f"{number:04d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(samples.jpeg(32 + number % 9, 32, seed=number))
    return folder


class Here:
    """An engine that does the work in this process."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.stop_after = stop_after

    def run(self, given: Sequence[tasks.Task]) -> Iterator[tasks.TaskRecord]:
        for number, task in enumerate(given):
            if number == self.stop_after:
                raise KeyboardInterrupt
            yield work.perform(task)

    def close(self) -> None:
        return


@dataclass
class Said:
    """The events of a conversion."""

    events: list[dict[str, Any]] = field(default_factory=list)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == kind]

    @property
    def result(self) -> dict[str, Any]:
        (result,) = self.of("result")
        return result


def convert(source: Path | str, place: Path | str, *argv: str, engine: Any = None) -> Said:
    """A conversion in this process; ``engine`` may be what gives one, or raises."""
    said = Said()
    given = options.parse([str(source), str(place), *argv], ArgumentParser)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            engines, "start", engine if callable(engine) else lambda *about: engine or Here()
        )
        run.convert(given, lambda event: said.events.append(dict(event)))
    return said


def command(source: Path | str, place: Path | str, *argv: str) -> list[str]:
    """The program's command line; its events come as JSON."""
    return [sys.executable, str(PROGRAM), str(source), str(place), *argv, "--events", "json"]


def program(
    source: Path | str, place: Path | str, *argv: str, **given: Any
) -> subprocess.CompletedProcess[str]:
    """A conversion as a user starts it."""
    return subprocess.run(
        command(source, place, *argv), capture_output=True, text=True, timeout=240, **given
    )


def events_of(done: subprocess.CompletedProcess[str]) -> Said:
    """What it said; nothing else stands on either stream."""
    assert done.stderr == ""
    return Said([json.loads(line) for line in done.stdout.splitlines()])


def files(place: Path) -> dict[str, str]:
    """All files below, with their SHA-256."""
    return {
        str(path.relative_to(place)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(place.rglob("*"))
        if path.is_file()
    }


def rows(place: Path, split: str) -> list[dict[str, Any]]:
    """The rows of a split, in order."""
    return [
        row
        for path in sorted((place / split).glob("*.parquet"))
        for row in pq.read_table(path).to_pylist()
    ]


def manifest(place: Path) -> layout.Manifest:
    """What the place says of itself, held against its files."""
    found = layout.from_text((place / layout.MANIFEST).read_text())
    there = files(place)
    del there[layout.MANIFEST]
    listed = [file for split in found.splits.values() for file in split.files]
    assert {file.name: file.sha256 for file in listed} == there
    for file in listed:
        footer = pq.read_metadata(place / file.name)
        groups = [footer.row_group(number).num_rows for number in range(footer.num_row_groups)]
        assert (footer.num_rows, tuple(groups)) == (file.rows, file.row_groups)
        assert os.path.getsize(place / file.name) == file.bytes
    return found
