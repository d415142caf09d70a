"""What a script's own arguments say."""

from __future__ import annotations

import pytest

from launchers.core.planning.script_arguments import value_of


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--seed", "3"], "3"),
        (["--seed=3"], "3"),
        (["--seed", "3", "--seed=4"], "4"),
        (["--seeds", "3"], None),
        (["--seed"], None),
        ([], None),
    ],
)
def test_the_value_of_an_argument_is_the_last_one(words: list[str], expected: str | None):
    assert value_of(words, "seed") == expected
