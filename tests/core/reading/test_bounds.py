"""What somebody may hand us as a file: each is read within bounds, or refused with one problem."""

from __future__ import annotations

import os
import socket
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from launchers.core import bounded
from launchers.core.model.problems import LaunchError
from launchers.core.reading.job_file import read
from launchers.core.reading.job_values import job_from_values
from launchers.core.reading.places import places_of
from launchers.core.reading.text_file import parse_all, read_trees
from launchers.core.registry import provider
from launchers.core.source.ignore_rules import IgnoreRules

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join(['*' + before] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
LEVELS = "[" * 60 + "{}" + "]" * 60
HOSTILE = {
    "bomb": (BOMB, "file-too-large"),
    "bomb of merges": (
        "a: &a {x: 1, y: 2}\n" + "".join(f"k{n}: {{<<: *a}}\n" for n in range(30_000)),
        "file-too-large",
    ),
    "brackets": ("[" * 100_000, "file-too-large"),
    "braces": ('{"a":' * 100_000, "file-too-large"),
    "brackets in YAML": ("a: " + "[" * 100_000, "file-too-large"),
    "dashes": ("- " * 100_000, "file-too-large"),
    "indents": ("\n".join(" " * depth + "a:" for depth in range(500)), "file-too-large"),
    "levels by aliases": (
        f"a: &a {LEVELS.format(0)}\nb: {LEVELS.replace('{}', '*a')}",
        "file-too-large",
    ),
    "empty lists": ("[" + "[]," * 1_000_000 + "[]]", "file-too-large"),
    "long YAML": ("#" * ((1 << 20) + 1), "file-too-large"),
    "an anchor in itself": ("a: &a [*a]", "file-too-large"),
    "an alias of nothing": ("a: *b", "file-yaml"),
    "digits": ('{"a": ' + "9" * 5000 + "}", "file-number"),
    "digits in YAML": ("a: " + "9" * 5000, "file-number"),
    "NaN": ('{"a": [NaN]}', "file-number"),
    "an infinity": ('{"a": 1e999}', "file-number"),
    "an infinity in YAML": ("a: .inf", "file-number"),
    "NUL": ("a: x\0y", "file-text"),
    "NUL in JSON": ('{"a": "x\\u0000"}', "file-text"),
    "NUL in a key": ('{"x\\u0000": 1}', "file-text"),
    "NUL in YAML": ('a: "x\\0"', "file-text"),
    "half a pair": ('{"a": "\\ud800"}', "file-text"),
    "Python": ("a: !!python/object/apply:os.system [x]", "file-yaml"),
    "bytes": ("a: !!binary aGk=", "file-yaml"),
    "a set": ("a: !!set {x}", "file-yaml"),
    "an unknown tag": ("a: !Reff x", "file-yaml"),
    "a key of keys": ("? [a]\n: b", "file-key-text"),
    "a merge of a text": ("a: {<<: x}", "file-yaml"),
    "no integer": ("a: !!int x", "file-yaml"),
    "one key twice": ("a: 1\nb: {c: 1, c: 2}", "file-key-twice"),
    "control characters": ("a: \x07", "file-yaml"),
}


@pytest.mark.parametrize(("text", "rule"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_is_one_problem(tmp_path: Path, text: str, rule: str):
    file = tmp_path / "document"
    file.write_text(text)
    with pytest.raises(LaunchError) as raised:
        read_trees(str(file))
    (problem,) = raised.value.problems
    assert problem.rule == rule
    assert raised.value.exit_code == 2
    assert len(str(problem)) < 400
    assert "\n" not in str(problem)


OF_LAUNCH_YAML = {
    **{name: HOSTILE[name] for name in ("bomb", "brackets in YAML", "digits in YAML")},
    "NUL in YAML": HOSTILE["NUL in YAML"],
    "two documents": ("a: 1\n---\nb: 2", "file-yaml"),
}


@pytest.mark.parametrize(("text", "rule"), OF_LAUNCH_YAML.values(), ids=OF_LAUNCH_YAML)
def test_a_hostile_launch_yaml_is_one_problem(tmp_path: Path, text: str, rule: str):
    file = tmp_path / "launch.yaml"
    file.write_text(text)
    with pytest.raises(LaunchError) as raised:
        read(file)
    assert [problem.rule for problem in raised.value.problems] == [rule]


def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for path, found in [
            (tmp_path / "pipe", "a named pipe"),
            (tmp_path / "socket", "a socket"),
            (tmp_path, "a folder"),
            ("/dev/zero", "a device"),
            ("a\0b", "no file's name"),
        ]:
            with pytest.raises(LaunchError, match=found):
                bounded.read_text(str(path))


def test_a_file_above_the_bound_is_refused_unread(tmp_path: Path):
    file = tmp_path / "document"
    file.touch()
    os.truncate(file, 1 << 40)
    with pytest.raises(LaunchError, match="more than 8 MiB"):
        bounded.read_text(str(file))


def test_a_pipe_that_the_shell_makes_is_read_up_to_the_bound(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bounded, "LARGEST_BYTES", 1000)
    for text, fits in [("a" * 1000, True), ("a" * 1001, False)]:
        reading, writing = os.pipe()
        writer = threading.Thread(target=_write, args=(writing, text.encode()))
        writer.start()
        try:
            if fits:
                assert bounded.read_text(f"/dev/fd/{reading}") == text
            else:
                with pytest.raises(LaunchError, match="more than"):
                    bounded.read_text(f"/dev/fd/{reading}")
        finally:
            os.close(reading)
            writer.join(120)


def _write(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (b"\xef\xbb\xbfa: 1", "a: 1"),
        ("a: 1".encode("utf-16"), "UTF-16"),
        ("a: 1".encode("utf-32"), "UTF-32"),
        ("a: é".encode("latin-1"), "not UTF-8"),
        (b"a: 1\n\0", ":2: a NUL character"),
    ],
)
def test_an_encoding_is_read_or_named(tmp_path: Path, data: bytes, answer: str):
    file = tmp_path / "document"
    file.write_bytes(data)
    try:
        found = bounded.read_text(str(file))
    except LaunchError as error:
        found = str(error)
    assert answer in found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 2024-01-01\nb: 2024-01-01 10:00:00", {"a": "2024-01-01", "b": "2024-01-01 10:00:00"}),
        ("x: &x {a: 1, b: 2}\ny: {<<: *x, b: 3}", {"x": {"a": 1, "b": 2}, "y": {"a": 1, "b": 3}}),
        (
            "x: &x {a: 1}\ny: &y {a: 2, c: 3}\nz: {<<: [*x, *y]}",
            {"x": {"a": 1}, "y": {"a": 2, "c": 3}, "z": {"a": 1, "c": 3}},
        ),
        ("- &a [1, yes, 1.5, ~, 'no', 0x10]\n- *a", [[1, True, 1.5, None, "no", 16]] * 2),
        ("1: a\non: b", {"1": "a", "on": "b"}),
        ("a: !!str 5\nb: ! 6\nc: !!int '7'", {"a": "5", "b": 6, "c": 7}),
        ("a: =\nb: '<<'", {"a": "=", "b": "<<"}),
        (
            "a: !Ref X\nb: !GetAtt X.Y\nc: !Sub ['${A}', {A: !Ref B}]",
            {"a": {"Ref": "X"}, "b": {"Fn::GetAtt": ["X", "Y"]},
             "c": {"Fn::Sub": ["${A}", {"A": {"Ref": "B"}}]}},
        ),
    ],
)  # fmt: skip
def test_yaml_is_read_as_its_writer_meant_it(text: str, value: Any):
    assert parse_all(text, "document") == [value]


def test_what_an_alias_names_is_a_value_of_its_own():
    (found,) = parse_all("a: &a {x: 1}\nb: *a", "document")
    found["a"]["x"] = 2
    assert found["b"] == {"x": 1}


def test_every_document_of_a_stream_is_read(tmp_path: Path):
    file = tmp_path / "document"
    file.write_text("a: &x 1\n---\nb: 2\n")
    assert read_trees(str(file)) == [{"a": 1}, {"b": 2}]


def test_each_place_is_found_in_json_and_in_yaml():
    text = '{\n\t"a": {"b": [1, {"c": "x, ]"}]},\n "d\\n": null}'
    assert places_of(text, "document") == {
        (): (1, 1),
        ("a",): (2, 2),
        ("a", "b"): (2, 8),
        ("a", "b", 0): (2, 14),
        ("a", "b", 1): (2, 17),
        ("a", "b", 1, "c"): (2, 18),
        ("d\n",): (3, 2),
    }
    text = "x: &x\n  a: 1\ny:\n  <<: *x\n  l:\n  - q\n"
    assert places_of(text, "document") == {
        (): (1, 1),
        ("x",): (1, 1),
        ("x", "a"): (2, 3),
        ("y",): (3, 1),
        ("y", "a"): (2, 3),
        ("y", "l"): (5, 3),
        ("y", "l", 0): (6, 5),
    }
    assert places_of(BOMB, "document") == {}


@pytest.mark.parametrize("sign", ["x", "\\n", "\u00e9", "{", '\\"'])
def test_the_places_around_a_long_value_are_found_within_a_bound(sign: str):
    text = f'{{"a": "{sign * 200_000}",\n "b": 1}}'
    tracemalloc.start()
    try:
        places = places_of(text, "document")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert places == {(): (1, 1), ("a",): (1, 2), ("b",): (2, 2)}
    assert most < 16 * len(text)


def test_a_file_of_the_job_may_use_anchors_and_merges(tmp_path: Path):
    file = tmp_path / "launch.yaml"
    file.write_text("env: &e {A: 1.10}\nsweep:\n  jobs:\n  - env: {<<: *e, B: 2024-01-01}\n")
    (job,) = read(file)["sweep"]
    assert job["environment"] == {"A": "1.10", "B": "2024-01-01"}


@pytest.mark.parametrize("values", [{"args": ["a\0b"]}, {"env": {"A": "\0"}}, {"script": "\0"}])
def test_a_nul_from_a_notebook_is_told(values: dict[str, Any]):
    with pytest.raises(LaunchError) as raised:
        job_from_values(provider("sagemaker"), values)
    assert "file-text" in {problem.rule for problem in raised.value.problems}


def test_an_ignore_file_above_the_bound_is_refused(tmp_path: Path):
    (tmp_path / ".gitignore").write_bytes(b"x\n" * (1 << 20))
    with pytest.raises(LaunchError, match="an ignore file of at most 1 MiB"):
        IgnoreRules().entered(tmp_path, "", {".gitignore"}, "")
