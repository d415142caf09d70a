"""What a person sees while a job runs: whole tagged lines, a bar on a terminal, plain in a pipe."""

from __future__ import annotations

import io
import json
import re
import sys

import pytest

from launchers.cli.show.output import answer, colours, say, say_problems, tell
from launchers.cli.show.screen import Screen
from launchers.cli.show.table import table
from launchers.core.model.jobs import LogLine
from launchers.core.model.problems import Problem
from launchers.core.output.lines import JobWatch, parse_tagged
from tests.cli.emulator import TerminalStream, lines_on
from tests.cli.terminal import plain

LINES = [
    "[host-1/0] hello",
    "[host-1/0] progress: epoch 1/2, step 5/10, 5,120 images/s, loss 0.4123",
    "[host-2/1] world",
    "[host-1/0] progress: epoch 2/2, step 10/10, 5,200 images/s, loss 0.2",
]


def printed(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, columns: int = 120) -> str:
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("COLUMNS", str(columns))
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
    text = printed(TerminalStream(), monkeypatch)
    assert "progress:" not in text
    assert "epoch 1/2  step 5/10  5,120 images/s  loss 0.4123" in text
    assert lines_on(text) == ["[host-1/0] hello", "[host-2/1] world"], "the bar is gone"
    assert "\x1b[36m[host-1/0]\x1b[0m hello" in text


@pytest.mark.parametrize("columns", [80, 200])
def test_the_bar_of_the_epochs_fits_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch):
    drawn = re.split("[\r\n]", plain(printed(TerminalStream(), monkeypatch, columns)))
    bars = [line for line in drawn if "epoch 1/2" in line]
    assert bars
    assert all("loss 0.4123" in line and len(line.rstrip()) <= columns for line in bars)


def test_a_line_for_a_person_takes_the_bars_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    terminal = TerminalStream()
    monkeypatch.setattr(sys, "stdout", terminal)
    line, watch = parse_tagged(LINES[1]), JobWatch()
    watch.see(line)
    Screen().show(line, watch)
    say("SageMaker: uploading the model")
    assert lines_on(terminal.getvalue()) == []
    assert capsys.readouterr().err == "SageMaker: uploading the model\n"


def test_a_bar_is_never_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch):
    stream = TerminalStream()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    line, watch = parse_tagged(LINES[1]), JobWatch()
    watch.see(line)
    screen = Screen()
    screen.show(line, watch)
    (bar,) = lines_on(stream.getvalue())
    assert 40 < len(bar) <= 60
    screen.end()


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
    assert colours(TerminalStream()) is expected
    assert colours(io.StringIO()) is False


@pytest.mark.parametrize("stream", [io.StringIO, TerminalStream], ids=["pipe", "terminal"])
def test_a_line_is_shown_without_what_a_terminal_would_obey(
    stream: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("NO_COLOR", "1")
    text = stream()
    monkeypatch.setattr(sys, "stdout", text)
    screen, watch = Screen(), JobWatch()
    hostile = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x1b[0m \u202eback\x9b1A 10%\r\x1b[Kred 20%"
    screen.show(LogLine(0.0, "host\x1b[1m-1", 0, hostile), watch)
    screen.show(LogLine(0.0, "host-1", 0, "\x1b[31mTraceback\x1b[0m 東京 🚀\tend"), watch)
    screen.end()
    assert text.getvalue() == "[host-1/0] red 20%\n[host-1/0] Traceback 東京 🚀\tend\n"


def test_messages_tables_and_answers_quote_nothing_that_a_terminal_would_obey(
    capsys: pytest.CaptureFixture[str],
):
    hostile = "a\x1b[2J\x9b1A\x1b]52;c;eA==\x07\u202eb\r\bc\x00 [red]d[/red]"
    say(f"  {hostile}")
    say_problems([Problem(hostile, hostile, hostile, hostile)])
    table(("JOB", "REASON"), [("job-1", hostile)])
    tell(hostile)
    answer({"reason": hostile})
    out, err = capsys.readouterr()
    assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", out + err) is None
    assert err.startswith("  ab c [red]d[/red]\nerror: ab c")
    assert json.loads(out[out.index("{") :]) == {"reason": hostile}
