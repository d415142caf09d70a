"""Readers of values, for argparse, that several options have in common."""

from __future__ import annotations

import argparse
import math
from typing import Callable, Sequence


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """A reader of whole numbers within these bounds."""
    bounds = f"at least {least}" if most is None else f"from {least} to {most}"

    def whole_number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least or (most is not None and value > most):
            raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number, {bounds}")
        return value

    return whole_number


def above_0(example: str) -> Callable[[str], float]:
    """A reader of numbers above 0; ``example`` is one, for the message."""

    def number_above_0(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value > 0):
            raise argparse.ArgumentTypeError(
                f"{text!r}: expected a number above 0, such as {example}"
            )
        return value

    return number_above_0


def several(names: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """A reader of one or several of ``names``, with commas, each once."""

    def words_of(text: str) -> tuple[str, ...]:
        words = tuple(text.split(","))
        for word in words:
            if word not in names or words.count(word) > 1:
                raise argparse.ArgumentTypeError(
                    f"{text!r}: expected one or several of {', '.join(names)}, with commas"
                )
        return words

    return words_of
