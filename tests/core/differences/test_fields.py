"""Which fields of two documents differ, and that no credential is shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from launchers.core.differences.fields import differing_fields

KEY = "sk-proj-" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5zA7b"


def said(before: Any, now: Any) -> list[str]:
    return list(differing_fields({"x": before}, {"x": now}).lines)


@pytest.mark.parametrize(
    ("before", "now", "line"),
    [
        (1, 2, "$.x: 2, was 1"),
        (None, True, "$.x: true, was null"),
        ("a", "b", "$.x: 'b', was 'a'"),
        ({}, {"y": 1}, "$.x.y: 1, was none"),
        ({"y": 1}, {}, "$.x.y: none, was 1"),
        ({"y": {"z": 1}}, {"y": {"z": 2}}, "$.x.y.z: 2, was 1"),
        ({"a b": 1}, {"a b": 2}, '$.x["a b"]: 2, was 1'),
        ([{"y": 1}], [{"y": 2}], "$.x[0].y: 2, was 1"),
        ([1], [1, 2], "$.x: 2 items, was 1"),
        (["a", "b"], ["a", "c"], "$.x: 'c', was 'b'"),
        (["--lr", "1", "z"], ["--lr", "2", "z"], "$.x: '--lr 2', was '--lr 1'"),
        (["z"], ["--lr", "2", "z"], "$.x: '--lr 2', was none"),
        ('["--lr", "1"]', '["--lr", "2"]', "$.x: '--lr 2', was '--lr 1'"),
        (["a", '["--lr", "1"]'], ["a", '["--lr", "2"]'], "$.x[1]: '--lr 2', was '--lr 1'"),
        (
            [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}],
            [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}],
            "$.x.B.value: '2', was '1'",
        ),
        ("one\ntwo", "one\nthree\nfour", "$.x: a text of 3 lines, was a text of 2 lines"),
        (
            "-x LAUNCH_JOB -x LAUNCH_WORLD_SIZE -x LAUNCH_PROOF",
            "-x LAUNCH_JOB -x LAUNCH_WORLD_SIZE -x SEED -x LAUNCH_PROOF",
            "$.x: '...SEED -x LAUNCH_PROOF', was '...LAUNCH_PROOF'",
        ),
        ("a" * 100, "b" * 100, f"$.x: '{'b' * 57}...', was '{'a' * 57}...'"),
    ],
)
def test_a_field_that_differs_is_named_with_both_values(before: Any, now: Any, line: str):
    assert said(before, now) == [line]
    assert said(now, now) == said(before, before) == []


@pytest.mark.parametrize(
    "at",
    [
        lambda value: {"OPENAI": value},
        lambda value: {"DB_PASSWORD": f"correct-{value[-6:]}"},
        lambda value: [{"name": "DB_PASSWORD", "value": f"correct-{value[-6:]}"}],
        lambda value: ["--password", f"correct-{value[-6:]}"],
        lambda value: ["train.py", json.dumps(["--password", f"correct-{value[-6:]}"])],
        lambda value: json.dumps(["--password", f"correct-{value[-6:]}"]),
        lambda value: f"run --password correct-{value[-6:]}",
        lambda value: [{"deep": [value]}],
    ],
)
@pytest.mark.parametrize("back", [False, True])
def test_the_value_of_a_credential_is_not_shown(at: Any, back: bool):
    pair = at(KEY), at("nothing" if isinstance(at(""), dict) and "OPENAI" in at("") else "x")
    (line,) = said(*(reversed(pair) if back else pair))
    assert line.endswith(": another value, which is not shown")
    assert KEY[-6:] not in line


def test_a_change_in_many_places_is_told_once():
    pools = [[{"env": [{"name": "SEED", "value": seed}]}] * 2 for seed in "12"]
    assert said(*pools) == ["$.x[0].env.SEED.value: '2', was '1'"]


def test_what_a_list_holds_is_told_beside_its_length():
    lines = said([{"a": 1}], [{"a": 2}, {"a": 1}])
    assert lines == ["$.x: 2 items, was 1", "$.x[0].a: 2, was 1"]


def test_the_rest_of_many_fields_is_counted():
    before, now = ({f"k{number}": value for number in range(9)} for value in "ab")
    lines = said(before, now)
    assert lines[:2] == ["$.x.k0: 'b', was 'a'", "$.x.k1: 'b', was 'a'"]
    assert lines[5:] == ["and 4 more fields"]


def test_a_placeholder_is_no_difference():
    found = differing_fields({"image": "mine/a:1"}, {"image": "no-project/a:1"}, {"no-project"})
    assert (found.lines, found.unknown) == ((), True)
