"""Files of JSON and YAML: what they hold, and what is said of one that is neither."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from launchers.core.model.problems import LaunchError
from launchers.core.reading.places import places_of
from launchers.core.reading.text_file import (
    parse_all,
    read_trees,
    read_verbatim_mapping,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [('{"a": 1.5}', {"a": 1.5}), ("a: [1, x]", {"a": [1, "x"]}), ("", None), ("[1]", [1])],
)
def test_a_document_is_json_or_else_yaml(tmp_path: Path, text: str, value: Any):
    file = tmp_path / "document"
    file.write_text(text)
    assert read_trees(str(file)) == ([] if value is None else [value])


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.StringIO('{"a": 1}'))
    assert read_trees("-") == [{"a": 1}]


@pytest.mark.parametrize(
    ("content", "rule", "parts"),
    [
        (b'{"a": 1\n"b": 2}', "file-json", ["document:2", "valid JSON"]),
        (b'{"a": {"b": 1, "b": 2}}', "file-key-twice", ["document:1: b", "each key once"]),
        (b"a: 1\nb: [", "file-yaml", ["document:2", "valid YAML"]),
        (b"\xff\xfe\x00", "file-unreadable", ["not UTF-8 text", "save it as UTF-8"]),
        (None, "file-unreadable", ["No such file or directory"]),
    ],
)
def test_a_file_that_is_neither_is_told_with_its_line(
    tmp_path: Path, content: bytes | None, rule: str, parts: list[str]
):
    file = tmp_path / "document"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(LaunchError) as raised:
        read_trees(str(file))
    (problem,) = raised.value.problems
    assert problem.rule == rule
    for part in parts:
        assert part in str(problem)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": 1,\n "b": "a",\n "a": 2}', [(3, "a", 1)]),
        ('{"a": {"b": 1},\n "c": [{"b": 2,\n\n "x": "b]}", "b" : 3}]}', [(4, "b", 2)]),
        ('{"a": 1,\n "a": 2,\n "a": 3}', [(2, "a", 1), (3, "a", 1)]),
        ('{"{\\"": 1,\n "{\\"": 2}', [(2, '{"', 1)]),
        ('{"a": 1,\n "\\u0061": 2}}}}', [(2, "a", 1)]),
        ("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\na: 4\n", [(5, "c", 3), (6, "a", 1)]),
        ("a: &a {b: 1,\n  b: 2}\nb: 1\n<<: *a\n", [(2, "b", 1)]),
    ],
)
def test_a_key_that_stands_twice_is_told_with_both_lines(
    tmp_path: Path, text: str, told: list[tuple[int, str, int]]
):
    file = tmp_path / "document"
    file.write_text(text)
    with pytest.raises(LaunchError) as raised:
        read_trees(str(file))
    assert [(one.path, one.found) for one in raised.value.problems] == [
        (f"{file}:{line}: {key}", f"the same key twice, first on line {first}")
        for line, key, first in told
    ]


def test_a_verbatim_mapping_keeps_the_text_of_the_file(tmp_path: Path):
    file = tmp_path / "document"
    file.write_text("version: 1.10\nflags: [no, 0x10]\n")
    assert read_verbatim_mapping(str(file)) == {"version": "1.10", "flags": ["no", "0x10"]}
    file.write_text("# nothing\n")
    assert read_verbatim_mapping(str(file)) == {}
    file.write_text("- a\n")
    with pytest.raises(LaunchError, match="list; expected a mapping of keys"):
        read_verbatim_mapping(str(file))


@pytest.mark.parametrize(
    ("text", "trees"),
    [
        ("{a: [b, {c: 1}]}", [{"a": ["b", {"c": 1}]}]),
        ('{"a": 1,}', [{"a": 1}]),
        ('{ # of a person\n"a": 1}', [{"a": 1}]),
        ('{"a": 1}\n---\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        ('{"a": 1}\n...\n', [{"a": 1}]),
    ],
)
def test_a_yaml_that_begins_as_json_is_yaml(tmp_path: Path, text: str, trees: list[object]):
    file = tmp_path / "jobs.yaml"
    file.write_text(text)
    assert read_trees(str(file)) == trees
    file = file.with_suffix(".json")
    file.write_text(text)
    with pytest.raises(LaunchError) as raised:
        read_trees(str(file))
    assert [one.rule for one in raised.value.problems] == ["file-json"]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}\n{"b": "x\\n"}\n',
        '{"a": 1}\r\n\r\n{"b": "x\\n"}',
        '{"a": 1}{"b": "x\\n"}',
        '{\n "a": 1\n}\n{\n "b": "x\\n"\n}\n',
    ],
)
def test_json_lines_and_documents_behind_each_other_are_a_stream(text: str):
    assert parse_all(text, "jobs.jsonl") == parse_all(text, "jobs.json")
    assert parse_all(text, "jobs.jsonl") == [{"a": 1}, {"b": "x\n"}]


def test_a_value_of_a_json_stream_stands_at_its_line_and_column():
    text = '{"a": 1}\n{"b": [1,\n 2]}\n'
    places = places_of(text, "jobs.jsonl")
    assert places[(0, "a")] == (1, 2)
    assert places[(1, "b")] == (2, 2)
    assert places[(1, "b", 1)] == (3, 2)


def test_objects_on_one_line_stand_at_their_columns():
    places = places_of('{"a": 1} {"b": 2} {"c": 3}\n', "jobs.jsonl")
    assert [places[where] for where in ((0, "a"), (1, "b"), (2, "c"))] == [(1, 2), (1, 11), (1, 20)]


@pytest.mark.parametrize(
    ("text", "rule", "place"),
    [
        ('{"a": 1}\n{"b": }\n', "file-json", "x.jsonl:2"),
        ('{"a": 1}\n{"b": 1, "b": 2}\n', "file-key-twice", "x.jsonl:2: b"),
        ('{"a": 1}\n{"b": 1}\nnote\n', "file-json", "x.jsonl:3"),
        ('{"a": 1}\n' + '{"b":' * 5000, "file-too-large", "x.jsonl"),
        ('{"a": 1}\n{"b": ' + "9" * 5000 + " x}\n", "file-json", "x.jsonl:2"),
    ],
    ids=["value", "key", "note", "depth", "number"],
)
def test_what_is_wrong_in_a_json_stream_is_told_with_its_line(text: str, rule: str, place: str):
    with pytest.raises(LaunchError) as raised:
        parse_all(text, "x.jsonl")
    assert [(one.rule, one.path) for one in raised.value.problems] == [(rule, place)]
