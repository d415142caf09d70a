"""Slow work on stderr: one line a step that stays, and the elapsed time."""

from __future__ import annotations

import io
import re

import pytest

from launchers.cli.show import progress
from launchers.cli.show.progress import LiveProgress
from launchers.docker.progress import clock, size_text
from tests.cli.emulator import TerminalStream, lines_on


def fail(stream: io.StringIO, error: type[BaseException]) -> None:
    with LiveProgress(stream) as told:
        told.step("Compile")
        raise error


def without_times(text: str) -> list[str]:
    return re.sub(r"\d+:\d\d", "T", text).splitlines()


def test_a_pipe_gets_one_line_a_step_and_no_control_codes() -> None:
    stream = io.StringIO()

    with LiveProgress(stream) as told:
        told.step("1/2 Compile")
        told.note("line")
        told.step("2/2 Try")
        told.note("cached")

    assert without_times(stream.getvalue()) == ["  1/2 Compile: T", "  2/2 Try: cached"]


def test_a_step_that_failed_or_was_interrupted_says_so() -> None:
    for error, word in ((ValueError, "failed"), (KeyboardInterrupt, "interrupted")):
        stream = io.StringIO()

        with pytest.raises(error):
            fail(stream, error)

        assert without_times(stream.getvalue()) == [f"  Compile: {word} T"]


def test_a_step_that_takes_long_shows_its_newest_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PIPE_SECONDS", 0.01)
    stream = io.StringIO()

    with LiveProgress(stream) as told:
        told.step("Compile")
        told.note("file.cc")
        while "file.cc" not in stream.getvalue():
            pass

    assert "  Compile  T  file.cc" in without_times(stream.getvalue())


def test_a_terminal_shows_the_step_at_once_and_keeps_one_line_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    stream = TerminalStream()

    with LiveProgress(stream) as told:
        told.step("2/4 Compile")
        (live,) = lines_on(stream.getvalue())
        assert "2/4 Compile" in live

    assert without_times("\n".join(lines_on(stream.getvalue()))) == ["  2/4 Compile: T"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0:00"), (59.6, "1:00"), (75, "1:15"), (3675, "1:01:15")]
)
def test_times_are_minutes_and_seconds(seconds: float, text: str) -> None:
    assert clock(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"), [(2_250_000_000, "2.25 GB"), (82_400_000, "82 MB"), (0, "0 MB")]
)
def test_sizes_are_in_powers_of_ten_as_docker_prints_them(size: int, text: str) -> None:
    assert size_text(size) == text
