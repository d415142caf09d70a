"""What a provider tells while it works, and how far slow work is: bars on a terminal alone."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

from launchers.cli.show import progress
from launchers.cli.show.narrator import Narrator
from launchers.cli.show.output import say
from launchers.cli.show.progress import reading_shown
from tests.cli.emulator import TerminalStream, lines_on


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> TerminalStream:
    """To be set as stderr in the test itself, since pytest sets its own behind the fixtures."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return TerminalStream()


@pytest.mark.parametrize("label", ["", "job"])
def test_a_pipe_and_one_of_several_jobs_get_one_line_at_the_end(
    monkeypatch: pytest.MonkeyPatch, terminal: TerminalStream, label: str
) -> None:
    screen = terminal if label else io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    narrator = Narrator(label)
    for done in (0, 1_000_000, 2_000_000):
        narrator.progress("code", done, 2_000_000)
    assert screen.getvalue() == f"{'job: ' if label else ''}code: 2.0 MB\n"


def test_a_pipe_hears_now_and_then_of_a_long_upload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PIPE_SECONDS", 0.0)
    monkeypatch.setattr("sys.stderr", io.StringIO())
    Narrator().progress("code", 340_000_000, 2_300_000_000)
    assert sys.stderr.getvalue() == "code: 340 of 2300 MB\n"  # type: ignore[attr-defined]


def test_a_terminal_gets_a_bar_that_gives_way_to_the_next_line(
    terminal: TerminalStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", terminal)
    narrator = Narrator()
    narrator.progress("code", 1_000_000, 2_000_000)
    (bar,) = lines_on(terminal.getvalue())
    assert bar.startswith("code ━━━━")
    assert "1.0/2.0 MB" in bar
    say("a line")
    narrator.progress("code", 2_000_000, 2_000_000)
    assert lines_on(terminal.getvalue()) == ["a line", "code: 2.0 MB"]
    assert "\x1b[?25l" not in terminal.getvalue(), "the cursor is never hidden"


def test_a_bar_comes_back_with_what_is_told_next(
    terminal: TerminalStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(progress, "_TERMINAL_SECONDS", 0.0)
    narrator = Narrator()
    narrator.progress("code", 500_000, 2_000_000)
    say("a line")
    narrator.progress("code", 1_500_000, 2_000_000)
    line, bar = lines_on(terminal.getvalue())
    assert line == "a line"
    assert "1.5/2.0 MB" in bar
    narrator.progress("code", 2_000_000, 2_000_000)


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_colour_means_none_and_a_dumb_terminal_gets_lines(
    terminal: TerminalStream, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv(name, value)
    narrator = Narrator()
    narrator.progress("code", 1_000_000, 2_000_000)
    drawn = terminal.getvalue()
    assert "\x1b[3" not in drawn
    assert bool(drawn) == (name == "NO_COLOR")
    narrator.progress("code", 2_000_000, 2_000_000)
    assert lines_on(terminal.getvalue()) == ["code: 2.0 MB"]


def test_a_label_is_text_and_no_markup_of_richs(
    terminal: TerminalStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", terminal)
    narrator = Narrator()
    narrator.progress("[red]code[/red]\x1b[2J", 1, 2)
    assert lines_on(terminal.getvalue())[0].startswith("[red]code[/red] ")
    narrator.progress("code", 2, 2)


def test_a_large_source_shows_on_a_terminal_alone_how_much_is_read(
    terminal: TerminalStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", terminal)
    reading_shown(100_000_000, 400_000_000)
    assert "100.0/400.0 MB" in lines_on(terminal.getvalue())[0]
    reading_shown(400_000_000, 400_000_000)
    assert lines_on(terminal.getvalue()) == []
    monkeypatch.setattr("sys.stderr", io.StringIO())
    reading_shown(100_000_000, 400_000_000)
    reading_shown(400_000_000, 400_000_000)
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]


@pytest.mark.processes
def test_whoever_draws_no_bar_does_not_pay_for_rich() -> None:
    code = (
        "import sys, launchers.cli.show.progress as p; p.reading_shown(1, 2);"
        "p.ByteProgress().show('x', 1, 2); sys.exit('rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert done.returncode == 0, done.stderr
