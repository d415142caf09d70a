"""How each reader is counted: it warms up, says so, waits for the word, then counts for a time.

A reader is a program of its own, started by tests/benchmarks/data/racing.py; several at once are
the ranks of a job. It says one JSON line at the end. Standard library alone: peers run it, too.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any


def parser() -> argparse.ArgumentParser:
    """What every reader is asked for."""
    made = argparse.ArgumentParser()
    made.add_argument("place")
    made.add_argument("--shard", type=int, default=0)
    made.add_argument("--shards", type=int, default=1)
    made.add_argument("--side", type=int, default=224, help="of a decoded picture")
    made.add_argument("--batch", type=int, default=64)
    made.add_argument("--buffer", type=int, default=1024, help="rows that are shuffled together")
    made.add_argument("--warm", type=int, default=5000, help="rows that are read uncounted")
    made.add_argument("--seconds", type=float, default=3.0, help="that are counted")
    made.add_argument("--cold", type=int, default=0, help="count so many rows, from opening on")
    return made


def count(asked: argparse.Namespace, opened: Callable[[], Iterable[Any]]) -> None:
    """Read what ``opened`` gives and say how fast; ends the process.

    Args:
        opened: Opens the place and gives batches of (pictures, labels), endlessly.
    """
    stream: Iterator[Any] = iter(())
    if not asked.cold:
        stream, warm = iter(opened()), 0
        while warm < asked.warm:
            warm += _rows(next(stream))
    print("ready", flush=True)
    sys.stdin.readline()
    rows, cpu, begin = 0, time.process_time(), time.perf_counter()
    if asked.cold:
        stream = iter(opened())
        while rows < asked.cold:
            rows += _rows(next(stream))
    else:
        while time.perf_counter() - begin < asked.seconds:
            rows += _rows(next(stream))
    said = {
        "rows": rows,
        "wall": time.perf_counter() - begin,
        "cpu": time.process_time() - cpu,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(said), flush=True)
    # Without waiting for the reader's threads: how long they take to end is not asked.
    os._exit(0)


def _rows(batch: Any) -> int:
    return int(batch[0].shape[0])
