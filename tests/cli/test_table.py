"""Tables: whole names on a terminal of any width, and plain columns in a pipe."""

from __future__ import annotations

import io

import pytest

from launchers.cli.show.table import fitted, table

COLUMNS = ("JOB", "WHERE", "STATE", "REASON")
LONG = "rank 3 failed first: ValueError: the shapes (1, 2) and (3,) do not fit, and it said so"
ROWS = [
    ["image-classifier-9bfa1234-12", "sagemaker", "failed", LONG],
    ["x-0badcafe-1", "local", "succeeded", ""],
]
ORDER = ("WHERE", "REASON", "STATE")


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", [20, 30, 40, 57, 60, 72, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal_and_every_name_is_whole(width: int):
    shown = fitted(COLUMNS, ROWS, width, ORDER, "REASON")
    longest_name = max(len(row[0]) for row in ROWS)
    for line in (*shown.heading, *shown.lines):
        assert len(line) <= max(width, longest_name)
    text = "\n".join(shown.lines)
    for row in ROWS:
        assert row[0] in text.split()


def test_columns_go_in_their_order_and_only_as_many_as_have_to():
    left_out = [
        fitted(COLUMNS, ROWS, width, ORDER, "REASON").left_out for width in (80, 62, 40, 30)
    ]
    assert left_out == [(), ("WHERE",), ("WHERE", "REASON"), ("WHERE", "STATE", "REASON")]


def test_a_column_is_back_where_the_next_one_made_room_for_it():
    assert fitted(COLUMNS, ROWS, 60, ORDER, "REASON").left_out == ("REASON",)


def test_a_long_text_takes_two_lines_and_ends_visibly():
    shown = fitted(COLUMNS, ROWS, 80, ORDER, "REASON")
    assert len(shown.lines) == 3
    assert shown.lines[1].endswith(" …")
    assert fitted(COLUMNS, ROWS, 200, ORDER, "REASON").lines[0].endswith(LONG)


def test_a_name_as_long_as_the_terminal_has_a_line_of_its_own():
    shown = fitted(("JOB", "STATE"), [["j" * 63, "failed"]], 60)
    assert shown.heading == ("JOB", "  STATE")
    assert shown.lines == ("j" * 63, "  failed")


def test_a_pipe_gets_every_column_and_word(capsys: pytest.CaptureFixture[str]):
    table(COLUMNS, ROWS, ORDER, "REASON")
    out, err = capsys.readouterr()
    assert err == ""
    assert [line.split()[0] for line in out.splitlines()] == ["JOB", ROWS[0][0], ROWS[1][0]]
    assert LONG in out


def test_what_is_left_out_is_named_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", "62")
    monkeypatch.setenv("NO_COLOR", "1")
    table(COLUMNS, ROWS, ORDER, "REASON")
    assert "sagemaker" not in screen.getvalue()
    said = "not shown at 62 columns: WHERE; a wider terminal, a pipe or --json shows all\n"
    assert capsys.readouterr().err == said
    monkeypatch.setenv("COLUMNS", "200")
    table(COLUMNS, ROWS, ORDER, "REASON")
    assert "sagemaker" in screen.getvalue()
    assert capsys.readouterr().err == ""


def test_what_a_terminal_would_obey_reaches_no_table():
    shown = fitted(("JOB",), [["a\x1b[31mb\nc"]], 80)
    assert shown.lines == ("ab c",)
