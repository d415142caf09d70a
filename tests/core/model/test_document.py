"""Reading a request document that may be wrong anywhere."""

from __future__ import annotations

import json

import pytest

from launchers.core.model.document import (
    at,
    document_text,
    entries,
    mapping,
    rank_count,
    whole_number,
)
from launchers.core.model.unknown import Unknown, as_text, unknowns_in

DOCUMENT = {
    "spec": {"pools": [{"count": 2}, "none", None, {"count": 3}], "name": None},
    "list": ["a", {"b": 1}],
}


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        ((), DOCUMENT),
        (("spec", "name"), None),
        (("spec", "pools", "0"), None),  # no object holds a key there
        (("spec", "gone", "deeper"), None),
        (("list",), ["a", {"b": 1}]),
    ],
)
def test_a_value_or_nothing_stands_behind_keys(keys, value):
    assert at(DOCUMENT, *keys) == value


def test_what_is_no_object_holds_nothing():
    assert at("text", "key") is None
    assert mapping(DOCUMENT, "list") == {}
    assert mapping(None, "spec") == {}
    assert entries(DOCUMENT["spec"], "pools") == [{"count": 2}, {"count": 3}]
    assert entries(DOCUMENT, "spec") == []


def test_a_text_with_bytes_that_are_no_utf_8_is_printed_without_loss():
    document = {"ü": ["a\udcff", "\\udcff", "\U0001f680"]}
    text = document_text(document)
    assert "ü" in text.encode().decode()
    assert json.loads(text) == document


def test_a_mapping_is_a_copy():
    mapping(DOCUMENT, "spec")["name"] = "changed"
    assert DOCUMENT["spec"]["name"] is None


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (4, 4),
        ("4", 4),
        ("04", 4),
        (True, None),
        (4.0, None),
        ("-4", None),
        ("4 ", None),
        ("9223372036854775807", 2**63 - 1),
        ("1" + "0" * 30, None),
        (10**30, None),
        (-(10**30), None),
        ("", None),
        (None, None),
        ([4], None),
    ],
)
def test_whole_numbers_are_numbers_or_their_digits(value, number):
    assert whole_number(value) == number


@pytest.mark.parametrize(
    ("value", "count"),
    [(0, 0), ("1000000", 10**6), (10**6 + 1, None), (-1, None), (10**30, None), (2.0, None)],
)
def test_a_count_of_ranks_is_one_that_a_job_may_have(value, count):
    assert rank_count(value) == count


def test_unknown_values_are_found_with_their_place_and_printed_as_their_text():
    document = {"count": Unknown("$.hosts"), "args": ["--n", Unknown("!Ref N"), {"x": 1}]}
    assert [(steps, str(one)) for steps, one in unknowns_in(document)] == [
        (("count",), "$.hosts"),
        (("args", 1), "!Ref N"),
    ]
    assert as_text(document) == {"count": "$.hosts", "args": ["--n", "!Ref N", {"x": 1}]}
    assert list(unknowns_in(as_text(document))) == []


def test_a_document_is_printed_as_json_that_people_can_read():
    text = document_text({"name": "größe", "hosts": Unknown("$.n"), "pair": (1, 2)})
    assert text.endswith("}\n")
    assert "größe" in text
    assert json.loads(text) == {"name": "größe", "hosts": "$.n", "pair": [1, 2]}
