"""Google's filter language, as the fakes read it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.fakes import google_filters
from tests.fakes.google_filters import Comparison, Predicate, text_matches
from tests.fakes.wire import ServiceError

THING = {"a": "1", "b": "2", "text": "Loss is 0.5", "labels.x/y": "z", "time": "2026-01-02"}


def matches(text: str) -> bool:
    def compare(asked: Comparison) -> Predicate[Mapping[str, str]]:
        test = text_matches(asked.operator or ":", asked.value)
        return lambda thing: test(thing.get(asked.field or "text", ""))

    return google_filters.predicate(google_filters.parse(text), compare)(THING)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ('a="1"', True),
        ("a=1", True),
        ("a = 1", True),
        ("a=2", False),
        ("a!=2", True),
        ('a="1" AND b="2"', True),
        ('a="1"\nb="2"', True),
        ('a="1" b="3"', False),
        ('a="0" OR b="2"', True),
        # OR binds before AND: 1 and (0 or 0).
        ('a="1" AND a="0" OR b="0"', False),
        ('a="1" OR a="0" AND b="0"', False),
        ('(a="1") OR (a="0" AND b="0")', True),
        ('NOT a="1"', False),
        ("-a=2", True),
        ('NOT (a="1" AND b="3")', True),
        ('a=("0" OR "1")', True),
        ('a:("0" AND "1")', False),
        ('text:"loss"', True),
        ('text="loss is 0.5"', True),
        ('text=~"^Loss.*5$"', True),
        ('text!~"^Loss"', False),
        ('"is 0.5"', True),
        ("loss", True),
        ("gain", False),
        ('labels."x/y"="z"', True),
        ('time>="2026-01-02" time<"2026-01-03"', True),
        ('time>"2026-01-02"', False),
        ('a="1" -- what follows is a comment\nb="2"', True),
        (r'text:"\"quoted\""', False),
    ],
)
def test_a_filter_takes_what_the_language_says(text: str, expected: bool) -> None:
    assert matches(text) is expected


@pytest.mark.parametrize("text", ["a=", "(a=1", "a=1)", 'a="1', "AND", "a = = b", 'OR a="1"'])
def test_what_is_not_in_the_language_is_an_invalid_argument(text: str) -> None:
    with pytest.raises(ServiceError, match="Unparseable filter") as error:
        google_filters.parse(text)
    assert error.value.status == 400
