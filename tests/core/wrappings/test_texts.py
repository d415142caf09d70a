"""JSON that lies as text in another document, and values in it that are not known."""

from __future__ import annotations

import pytest

from launchers.core.model.problems import LaunchError
from launchers.core.model.unknown import Unknown, as_text, unknowns_in
from launchers.core.wrappings.texts import Marks, json_of, merged

EXPRESSION = r"\$\{[^}]*\}"


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ('{"a": ${n}}', {"a": Unknown("${n}")}),
        ('{"a": "${n}"}', {"a": Unknown("${n}")}),
        ('{"a": "s3://${b}/x"}', {"a": Unknown("s3://${b}/x")}),
        ('{"a": "say \\"${b}\\""}', {"a": Unknown('say "${b}"')}),
        ('{"a": [1, ${n}, "x"]}', {"a": [1, Unknown("${n}"), "x"]}),
        ('{"a": "b"}', {"a": "b"}),
    ],
)
def test_an_expression_in_a_text_is_unknown_wherever_it_stands(text: str, tree: object):
    marks = Marks()
    assert marks.parsed(marks.marked(text, EXPRESSION), "$.x") == tree


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("{", "file-json"),
        ("[" * 500 + "]" * 500, "file-too-large"),
        ("[" * 100_000, "file-too-large"),
        ("[" * 1_000_000, "file-too-large"),
        ("9" * 5000, "file-number"),
        ('{"a": 1, "a": 2}', "file-key-twice"),
    ],
)
def test_a_text_that_is_no_json_within_bounds_is_said_with_its_place(text: str, rule: str):
    with pytest.raises(LaunchError) as caught:
        json_of(text, "$.Definition")
    [problem] = caught.value.problems
    assert problem.rule == rule
    assert problem.path.startswith("$.Definition")


def test_what_a_plan_does_not_know_is_unknown():
    after = {"a": 1, "b": [{"c": 2}, {}], "d": None}
    unknown = {"b": [{}, {"e": True}], "f": True, "d": False}
    assert merged(after, unknown, "?") == {
        "a": 1,
        "b": [{"c": 2}, {"e": Unknown("?")}],
        "d": None,
        "f": Unknown("?"),
    }


def test_unknowns_are_found_and_written_as_their_text():
    document = {"a": [Unknown("x"), {"b": Unknown("y")}], "c": 1}
    assert dict(unknowns_in(document)) == {("a", 0): Unknown("x"), ("a", 1, "b"): Unknown("y")}
    assert as_text(document) == {"a": ["x", {"b": "y"}], "c": 1}
