"""The words for a value that a service's model refuses."""

from __future__ import annotations

import pytest

from launchers.core.model.problems import Problem
from launchers.core.rules.model_check import (
    not_one_of,
    place,
    shortened,
    shown,
    unknown_key,
    without_value,
    wrong_type,
)

KEY = "AKIA" + "Q7ZJ2W9LMPX4TRBN"  # of the form of an access key, and nobody's
MODEL = {
    "Job": [("Name", "", None), ("Resources", "", "Resources"), ("Inputs", "[0]", "Input")],
    "Resources": [("Count", "", None), ("VolumeSize", "", None)],
    "Input": [("Count", "", None), ("Bucket", "", None)],
}


def members(structure):
    return MODEL[structure]


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("Name", "$.Name"),
        ("a-b", "$.a-b"),
        ("a b", '$["a b"]'),
        ("é", '$["é"]'),
        (KEY, '$["(hidden)"]'),
        (7, '$["7"]'),
    ],
)
def test_a_place_is_readable_and_hides_what_may_be_a_credential(key, path):
    assert place("$", key) == path


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ({"a": 1}, "an object"),
        ([1], "a list"),
        ("x", "'x'"),
        (True, "true"),
        (1.5, "1.5"),
    ],
)
def test_a_value_is_shown_short(value, text):
    assert shown(value) == text


def test_a_long_one_is_cut_and_a_credential_not_shown():
    assert len(shown("x" * 500)) == 62
    assert shortened("x" * 61) == "x" * 57 + "..."
    assert shortened("x" * 60) == "x" * 60
    assert KEY not in shown(KEY)
    assert "looks like" in shown(KEY)


@pytest.mark.parametrize(
    ("value", "kind", "fix"),
    [
        ("4", "a whole number", "write it without quotes"),
        ("true", "true or false", "write it without quotes"),
        ("four", "a whole number", ""),
        (4, "text", "write it in quotes"),
        (None, "text", ""),
    ],
)
def test_a_wrong_type_says_what_quotes_have_to_do_with_it(value, kind, fix):
    problem = wrong_type(value, kind, "$.x")
    assert (problem.rule, problem.expected, problem.fix) == ("model-type", kind, fix)


def test_one_of_few_names_them_and_one_of_many_counts_them():
    few = not_one_of(["Gzip", "None"], "gzip", "$.x")
    assert (few.expected, few.fix) == ("one of Gzip, None", "did you mean Gzip?")
    many = not_one_of([f"ml.m{n}.large" for n in range(9)], "zebra", "$.x", "see the list")
    assert (many.expected, many.fix) == ("one of 9 known names", "see the list")


@pytest.mark.parametrize(
    ("structure", "key", "path", "fix"),
    [
        ("Job", "Nmae", "$", "did you mean Name?"),
        ("Job", "Bucket", "$", "it belongs at $.Inputs[0].Bucket"),
        ("Job", "count", "$", "it belongs at $.Resources.Count or $.Inputs[0].Count"),
        ("Resources", "zebra", "$.Resources", "its keys are Count, VolumeSize"),
        ("Job", "zebra", "$", ""),
    ],
)
def test_an_unknown_key_is_misspelt_or_belongs_elsewhere(structure, key, path, fix):
    problem = unknown_key(structure, key, members, "Job", path)
    assert problem.rule == "model-key"
    assert problem.path == f"{path}.{key}"
    assert problem.fix == fix


def test_what_may_be_a_secret_is_not_told():
    kept = Problem("$.x", "'value'", "less", "", "error", "model-length")
    assert without_value(kept) == kept
    assert without_value(not_one_of(["a"], "value", "$.x")).found == "another value"
    assert without_value(wrong_type(7, "text", "$.x")).found == "a value that is not text"
    broken = Problem("$.x", "'a' with a line break", "none", "", "error", "model-pattern")
    assert without_value(broken).found == "a value with a line break"
