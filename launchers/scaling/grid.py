"""The points of a study: the product of its sizes and of what it compares, and their order."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from launchers.core.spec.value_types import ValueType

_NAME = re.compile(r"(?:--?)?([A-Za-z][A-Za-z0-9_.-]*)")


@dataclass(frozen=True)
class Counts(ValueType):
    """Whole numbers with commas between, each once: ``1,2,4``."""

    minimum: int
    maximum: int

    @property
    def expected(self) -> str:  # type: ignore[override]
        return f"whole numbers from {self.minimum} to {self.maximum}, each once, such as 1,2,4"

    def parse(self, value: Any) -> tuple[int, ...]:
        words = value.split(",") if isinstance(value, str) else []
        if not words or not all(re.fullmatch(r"\d{1,9}", word) for word in words):
            raise ValueError
        found = tuple(map(int, words))
        if len(set(found)) != len(found) or not all(
            self.minimum <= one <= self.maximum for one in found
        ):
            raise ValueError
        return found


@dataclass(frozen=True)
class Compared(ValueType):
    """A name and the values that it takes in turn: ``lr-scaling=none,linear``."""

    expected: str = "NAME=VALUE,VALUE with two values or more, each once"

    def parse(self, value: Any) -> tuple[str, tuple[str, ...]]:
        name, equals, rest = value.partition("=") if isinstance(value, str) else ("", "", "")
        match = _NAME.fullmatch(name)
        values = tuple(rest.split(","))
        if not match or not equals or not all(values) or len(values) < 2:
            raise ValueError
        if len(set(values)) != len(values):
            raise ValueError
        return match[1], values


@dataclass(frozen=True)
class Point:
    """What one job of the study asks for, besides what they all do.

    Attributes:
        instances, processes, gpus: None where the study does not vary them.
        variant: (name, value) of each comparison.
    """

    instances: int | None = None
    processes: int | None = None
    gpus: int | None = None
    variant: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Grid:
    """What the study varies; an empty tuple for what it leaves alone.

    Attributes:
        compared: Name and values of each ``--compare``.
        repeat: How often each point is run.
    """

    instances: tuple[int, ...] = ()
    processes: tuple[int, ...] = ()
    gpus: tuple[int, ...] = ()
    compared: tuple[tuple[str, tuple[str, ...]], ...] = ()
    repeat: int = 1

    @property
    def points(self) -> list[Point]:
        """Variant by variant, each from small to large."""
        sizes = [
            tuple(sorted(one)) or (None,) for one in (self.instances, self.processes, self.gpus)
        ]
        variants: Iterable[tuple[tuple[str, str], ...]] = list(
            itertools.product(
                *([(name, value) for value in values] for name, values in self.compared)
            )
        )
        return [
            Point(instances, processes, gpus, variant)
            for variant in variants
            for instances, processes, gpus in itertools.product(*sizes)
        ]

    @property
    def count(self) -> int:
        """How many runs there are."""
        found = self.repeat
        for one in (self.instances, self.processes, self.gpus):
            found *= max(len(one), 1)
        for _, values in self.compared:
            found *= len(values)
        return found


def interleaved(points: Sequence[Any], repeat: int) -> list[tuple[Any, int]]:
    """Every point with each repeat's number, from 1, repeat by repeat, so that a machine that
    becomes slower meets all sizes alike; every second time in reverse, so that what changes
    steadily does as well."""
    return [
        (point, number)
        for number in range(1, repeat + 1)
        for point in (points if number % 2 else list(reversed(points)))
    ]
