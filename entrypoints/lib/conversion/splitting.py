"""In which order pictures are stored, and in which split each one is: by hashes with the seed."""

from __future__ import annotations

import hashlib
from typing import Iterable, Sequence

from ..data.layout import SPLITS
from .tasks import Picture


def in_order(pictures: Iterable[Picture], seed: int) -> list[Picture]:
    """The pictures in an order that depends on their paths and the seed alone."""
    return sorted(pictures, key=lambda picture: (_hash(_bytes(picture.path), seed), picture.path))


def split_of(content: bytes, fractions: Sequence[float], seed: int) -> str:
    """The split (of SPLITS) of the original with these bytes; equal originals are in the same one.

    Args:
        content: The original's bytes.
        fractions: Of the splits, in order; they sum to 1.
        seed: Another seed splits otherwise.
    """
    if len(fractions) == 1:
        return SPLITS[0]
    share = int.from_bytes(_hash(content, seed), "big") / 2**64
    for split, fraction in zip(SPLITS, fractions):
        share -= fraction
        if share < 0:
            return split
    return SPLITS[len(fractions) - 1]


def _hash(content: bytes, seed: int) -> bytes:
    return hashlib.blake2b(content, digest_size=8, key=str(seed).encode()).digest()


def _bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")
