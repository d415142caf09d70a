"""Whole lines from an engine's log entries."""

from __future__ import annotations

import pytest

from launchers.rehearsal.engine.output import whole_lines

AT = b"2026-01-02T03:04:05.250000000Z "
LATER = b"2026-01-02T03:04:06Z "
SECONDS = 1767323045.25


@pytest.mark.parametrize(
    ("name", "entries", "expected"),
    [
        (
            "an entry is a line",
            [AT + b"a\n", LATER + b"b\n"],
            [(SECONDS, "a"), (SECONDS + 0.75, "b")],
        ),
        (
            "a long line comes in parts",
            [AT + b"long ", LATER + b"line\n"],
            [(SECONDS, "long line")],
        ),
        ("the last line may lack its end", [AT + b"half"], [(SECONDS, "half")]),
        ("an empty line is one", [AT + b"\n"], [(SECONDS, "")]),
        ("a carriage return ends no line", [AT + b"1%\r2%\r\n"], [(SECONDS, "1%\r2%")]),
        ("bytes that are no text", [AT + b"\xff\n"], [(SECONDS, "\ufffd")]),
        ("another time zone", [b"2026-01-02T05:04:05.25+02:00 a\n"], [(SECONDS, "a")]),
        ("no time at all", [b"a\n"], [(0.0, "a")]),
        ("nothing", [], []),
    ],
)
def test_whole_lines(name: str, entries: list[bytes], expected: list[tuple[float, str]]) -> None:
    assert list(whole_lines(entries)) == expected, name


def test_a_line_without_end_does_not_fill_the_memory() -> None:
    entries = (AT + b"x" * 100_000 for _ in range(100))
    ((_, text),) = whole_lines(entries)
    assert len(text) == 1_000_000
