"""Readers beside each other: each a process of its own a rank, in turn, the same time each.

The ranks of a reader start together, warm up, wait for each other and then count for the same
seconds, so that start-up and first epochs are in no figure.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.benchmarks.measure import print_table, quiet_environment, with_spread
from tests.places import ENTRYPOINTS

READERS = Path(__file__).parent / "readers"
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore", "CUDA_VISIBLE_DEVICES": ""}


@dataclass(frozen=True)
class Reader:
    """A program of readers/ with its arguments; ``--shard``, ``--shards`` and times are added."""

    title: str
    program: str
    arguments: tuple[str, ...]
    python: str = sys.executable


@dataclass(frozen=True)
class Way:
    """How readers are counted.

    Attributes:
        shards: Ranks at once.
        warm: Rows that all ranks together read before.
        seconds: That are counted.
        cold: Instead: count so many rows, from the opening of the place on.
        drop: Whether to drop the page cache before.
    """

    shards: int = 1
    warm: int = 5000
    seconds: float = 3.0
    cold: int = 0
    drop: bool = True


@dataclass(frozen=True)
class Rate:
    """What one run of a reader gave, all its ranks together.

    Attributes:
        rows: A second of wall time.
        cpu: Seconds of CPU for 1,000 rows.
        peak: Of the largest rank, in MB.
    """

    rows: float
    cpu: float
    peak: float


def race(readers: Sequence[Reader], runs: int, way: Way) -> dict[str, list[Rate]]:
    """Title -> the rates of ``runs`` rounds, in each of which all readers have a turn.

    Raises:
        RuntimeError: A reader ended with an error; its stderr is in the message.
    """
    found: dict[str, list[Rate]] = {reader.title: [] for reader in readers}
    for _ in range(runs):
        for reader in readers:
            found[reader.title].append(measured(reader, way))
    return found


def measured(reader: Reader, way: Way) -> Rate:
    """One run of all ranks at once."""
    ranks = [_start(reader, rank, way) for rank in range(way.shards)]
    try:
        for rank in ranks:
            if _line(rank) != "ready":
                raise RuntimeError(f"{reader.title}: {_errors(rank)}")
        if way.cold and way.drop:
            drop_page_cache()
        for rank in ranks:
            assert rank.stdin
            rank.stdin.write("\n")
            rank.stdin.flush()
        said = [_line(rank) for rank in ranks]
        for rank, text in zip(ranks, said, strict=True):
            if not text:
                raise RuntimeError(f"{reader.title}: {_errors(rank)}")
    finally:
        for rank in ranks:
            rank.kill()
            rank.communicate()
    figures = [json.loads(text) for text in said]
    return Rate(
        sum(one["rows"] / one["wall"] for one in figures),
        1000 * sum(one["cpu"] for one in figures) / sum(one["rows"] for one in figures),
        max(one["peak_mb"] for one in figures),
    )


def drop_page_cache() -> None:
    """What files the system kept in memory is forgotten, for all of this machine.

    Raises:
        PermissionError: This is not root.
    """
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("1")


def _start(reader: Reader, rank: int, way: Way) -> subprocess.Popen[str]:
    words = [reader.python, str(READERS / reader.program), *reader.arguments]
    words += ["--shard", str(rank), "--shards", str(way.shards)]
    words += ["--warm", str(way.warm // way.shards), "--seconds", str(way.seconds)]
    words += ["--cold", str(way.cold // way.shards)]
    return subprocess.Popen(
        words,
        env=quiet_environment(**QUIET, PYTHONPATH=str(ENTRYPOINTS)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _line(rank: subprocess.Popen[str]) -> str:
    assert rank.stdout
    return rank.stdout.readline().strip()


def _errors(rank: subprocess.Popen[str]) -> str:
    rank.kill()
    return f"it ended too early\n{rank.communicate()[1][-2000:]}"


def print_race(title: str, found: Mapping[str, Sequence[Rate]], beside: Sequence[str] = ()) -> None:
    """The table of a race: medians, the spread, and the first reader's ratio to each other.

    Args:
        beside: The readers of which the ratio is printed; all where none is given.
    """
    ours, *_ = found
    rows = []
    for name, rates in found.items():
        of_rows = [rate.rows for rate in rates]
        rows.append(
            [
                name,
                f"{median(of_rows):,.0f}",
                f"{min(of_rows):,.0f} to {max(of_rows):,.0f}",
                ratio(found[ours], rates) if name != ours and name in (beside or found) else "",
                f"{median([rate.cpu for rate in rates]):.3f}",
                f"{median([rate.peak for rate in rates]):,.0f}",
            ]
        )
    columns = [
        "reader",
        "pictures/s",
        "spread",
        f"{ours} beside it",
        "CPU s for 1,000",
        "MB a rank",
    ]
    print_table(title, columns, rows)


def ratio(ours: Sequence[Rate], theirs: Sequence[Rate]) -> str:
    """The median of the paired rounds' ratios, and their spread."""
    ratios = [mine.rows / other.rows for mine, other in zip(ours, theirs, strict=True)]
    return with_spread(ratios)
