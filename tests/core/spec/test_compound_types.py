"""Values that have parts: what each kind takes, and what it gives."""

from __future__ import annotations

import pytest

from launchers.core.spec.compound_types import Arguments, Pairs, Words
from launchers.core.spec.value_types import ValueType


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Pairs(), "A=b=c", {"A": "b=c"}),
        (Pairs(), "A=", {"A": ""}),
        (Pairs(), {"A": "1.10"}, {"A": "1.10"}),
        (Words(), "one", ("one",)),
        (Words(), ["one", "two"], ("one", "two")),
        (Arguments(), ["--lr", "1.10", ""], ("--lr", "1.10", "")),
        (Arguments(), {"lr": "1.10", "v": "true"}, ("--lr", "1.10", "-v")),
        (Arguments(), {"quiet": "false", "name": None}, ()),
        (Arguments(), {"data": ["a", "b"]}, ("--data", "a", "--data", "b")),
    ],
)
def test_a_kind_gives_the_value_that_its_text_stands_for(
    kind: ValueType, text: object, value: object
):
    assert kind.parse(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Pairs(), "A"),
        (Pairs(), "1A=b"),
        (Pairs(), {"A": 1}),
        (Pairs(), "=b"),
        (Words(), 3),
        (Words(), [3]),
    ],
)
def test_a_kind_refuses_everything_else(kind: ValueType, text: object):
    with pytest.raises(ValueError):  # noqa: PT011 - the caller adds place and expectation
        kind.parse(text)
