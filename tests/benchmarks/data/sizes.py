"""How much is measured: the figures' sizes, and those of a test that the command works."""

from __future__ import annotations

import os
from dataclasses import dataclass

SMALL = 500  # pictures, up to which they are not kept


@dataclass(frozen=True)
class Sizes:
    """What `python -m tests.benchmarks data-...` was asked for.

    Attributes:
        runs: Rounds that count.
        pictures: That are read.
        converted: That are converted.
        seconds: That each reader is counted for.
        streams: Bytes that the ranks of the memory table read.
        steps: Of each training on ResNet50, after two that don't count.
        epochs: Of the trainings that compare accuracy.
        peers: Whether petastorm is measured beside ours, in an environment of its own.
        cold: Whether to drop this machine's page cache before each cold run; needs root.
    """

    runs: int = 5
    pictures: int = 5000
    converted: int = 20000
    seconds: float = 3.0
    streams: tuple[int, ...] = (10**9, 10**10, 10**11)
    steps: int = 20
    epochs: int = 6
    peers: bool = True
    cold: bool = False

    @property
    def workers(self) -> int:
        """Of an engine: the cores of this machine."""
        return len(os.sched_getaffinity(0))


SMOKE = Sizes(1, 200, 60, 0.1, (10**6,), 1, 1, peers=False)
