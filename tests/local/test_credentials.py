"""Credentials in a job of this machine: refused where they are kept, told of where they stay."""

from __future__ import annotations

import pytest

from tests.cli.command import Launch

KEY = "AKIA" + "Q3ZL7RTNB2XWMD5C"
PLAIN = "print('plain')\n"


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (["--env", f"WHERE={KEY}"], "--env WHERE"),
        (["--", "--note", KEY], "--note"),
        (["--", f"--note={KEY}"], "--note"),
    ],
)
def test_one_in_a_flag_is_refused_as_in_the_clouds(launch: Launch, words: list[str], path: str):
    launch.write("train.py", PLAIN)
    answer = launch("local", "train.py", "--dry-run", *words)
    assert answer.code == 2
    assert path in answer.err
    assert "[credential]" in answer.err
    assert "=file:PATH" in answer.err
    assert KEY not in answer.err + answer.out


def test_one_in_the_source_is_a_warning_by_file_and_line(launch: Launch):
    launch.write("train.py", PLAIN + f"key = '{KEY}'\n")
    answer = launch("local", "train.py", "--dry-run")
    assert answer.code == 0, answer.err
    assert "warning: train.py:2: holds what looks like an AWS access key id" in answer.err
    assert KEY not in answer.err
    allowed = launch("local", "train.py", "--dry-run", "--allow-value", "train.py")
    assert "warning" not in allowed.err


def test_an_allowed_one_stands_in_the_document_and_never_in_the_plan(launch: Launch):
    launch.write("train.py", PLAIN)
    words = ["--allow-value", "note", "--allow-value", "db-password", "--checkpoint", f"/tmp/{KEY}"]
    given = ["--note", KEY, "--db-password=hunter2x"]
    answer = launch("local", "train.py", "--dry-run", *words, "--", *given)
    assert answer.code == 0, answer.err
    assert answer.json["arguments"] == given
    assert "--note *** (20 characters) --db-password=*** (8 characters)" in answer.err
    assert KEY not in answer.err
    assert "hunter2x" not in answer.err
