"""Which precision a job computes in, by what its ranks' GPUs are made for."""

from __future__ import annotations

from typing import Any

import pytest

from entrypoints.lib.errors import TrainingError
from entrypoints.lib.precision import Gpu, choose

H100, T4, K80, NONE = (9, 0), (7, 5), (3, 7), None


def ranks(*capabilities: tuple[int, int] | None) -> list[list[Gpu]]:
    return [[] if one is None else [Gpu("a GPU", one)] for one in capabilities]


@pytest.mark.parametrize(
    ("asked", "of_ranks", "expected"),
    [
        ("float32", (NONE, K80), "float32"),
        ("bfloat16", (NONE, NONE), "bfloat16"),
        ("bfloat16", (H100, (8, 0)), "bfloat16"),
        ("float16", (T4, H100), "float16"),
        ("float16", ((7, 0),), "float16"),
        ("auto", (H100, H100), "bfloat16"),
        ("auto", (H100, T4), "float16"),
        ("auto", (T4, K80), "float32"),
        ("auto", (NONE, H100), "float32"),
        ("auto", (NONE,), "float32"),
    ],
)
def test_a_precision_is_one_that_all_ranks_devices_are_made_for(
    asked: str, of_ranks: tuple[Any, ...], expected: str
) -> None:
    assert choose(asked, ranks(*of_ranks)) == expected


@pytest.mark.parametrize(
    ("asked", "of_ranks", "words"),
    [
        ("float16", (NONE,), "rank 0 has no GPU; .* 7.0 or more on every rank. Take .* bfloat16"),
        ("float16", (H100, K80), "rank 1 has a GPU of compute capability 3.7; expected"),
        ("bfloat16", (T4,), "rank 0 has a GPU of compute capability 7.5; .* capability 8.0 or"),
        ("bfloat16", (H100, NONE), "rank 1 has no GPU"),
        ("float16", ((0, 0),), "rank 0 has a GPU of unknown compute capability"),
    ],
)
def test_a_precision_that_a_rank_cannot_do_is_one_line_with_what_it_has(
    asked: str, of_ranks: tuple[Any, ...], words: str
) -> None:
    with pytest.raises(TrainingError, match=words):
        choose(asked, ranks(*of_ranks))
