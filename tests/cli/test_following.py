"""What a person sees while a job runs: whole tagged lines, a bar on a terminal, plain in a pipe."""

from __future__ import annotations

import io
import sys

import pytest

from launchers.cli.follow import Screen
from launchers.cli.output import colours, say
from launchers.core.logs import JobWatch, parse_tagged

LINES = [
    "[host-1/0] hello",
    "[host-1/0] progress: epoch 1/2, step 5/10, 5,120 images/s, loss 0.4123",
    "[host-2/1] world",
    "[host-1/0] progress: epoch 2/2, step 10/10, 5,200 images/s, loss 0.2",
]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def printed(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    screen, watch = Screen(), JobWatch()
    for text in LINES:
        line = parse_tagged(text)
        watch.see(line)
        screen.show(line, watch)
    screen.end()
    return stream.getvalue()


def test_a_pipe_gets_every_line_plain(monkeypatch: pytest.MonkeyPatch):
    assert printed(io.StringIO(), monkeypatch).splitlines() == LINES


def test_a_terminal_gets_a_bar_instead_of_progress_lines(monkeypatch: pytest.MonkeyPatch):
    text = printed(Terminal(), monkeypatch)
    assert "progress:" not in text
    assert "epoch 1/2  step 5/10  5,120 images/s  loss 0.4123" in text
    assert text.endswith("\r\x1b[K")
    assert "\x1b[36m[host-1/0]\x1b[0m hello" in text


def test_a_line_for_a_person_takes_the_bars_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    line, watch = parse_tagged(LINES[1]), JobWatch()
    watch.see(line)
    Screen().show(line, watch)
    say("SageMaker: uploading the model")
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert capsys.readouterr().err == "SageMaker: uploading the model\n"


def test_a_bar_is_never_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("launchers.cli.follow.shutil.get_terminal_size", _narrow)
    text = printed(Terminal(), monkeypatch)
    bars = [part for part in text.split("\r") if "█" in part]
    assert bars
    assert all(len(_without_escapes(bar.splitlines()[-1])) < 40 for bar in bars)


def _narrow() -> object:
    import os

    return os.terminal_size((40, 20))


def _without_escapes(text: str) -> str:
    import re

    return re.sub(r"\x1b\[[0-9;]*[mK]", "", text)


@pytest.mark.parametrize(
    ("changes", "expected"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colours_are_for_terminals_that_want_them(
    changes: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in changes.items():
        monkeypatch.setenv(name, value)
    assert colours(Terminal()) is expected
    assert colours(io.StringIO()) is False
