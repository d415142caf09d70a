"""What a provider tells while it works."""

from __future__ import annotations

import io

import pytest

from launchers.cli.show.narrator import Narrator
from launchers.cli.show.output import reading_shown, say


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("screen", "label"), [(io.StringIO(), ""), (Terminal(), "job")])
def test_a_pipe_and_one_of_several_jobs_get_one_line_at_the_end(
    monkeypatch: pytest.MonkeyPatch, screen: io.StringIO, label: str
) -> None:
    monkeypatch.setattr("sys.stderr", screen)
    narrator = Narrator(label)
    for done in (0, 1_000_000, 2_000_000):
        narrator.progress("code", done, 2_000_000)
    assert screen.getvalue() == f"{'job: ' if label else ''}code: 2.0 MB\n"


def test_a_terminal_gets_a_bar_that_gives_way_to_the_next_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    narrator = Narrator()
    narrator.progress("code", 1_000_000, 2_000_000)
    assert screen.getvalue() == f"{'█' * 12}{'░' * 12}  code: 2.0 MB"
    say("a line")
    narrator.progress("code", 2_000_000, 2_000_000)
    assert screen.getvalue().endswith("\r\x1b[Ka line\ncode: 2.0 MB\n")


def test_a_large_source_shows_on_a_terminal_alone_how_much_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen, pipe = Terminal(), io.StringIO()
    for stream in (screen, pipe):
        monkeypatch.setattr("sys.stderr", stream)
        reading_shown(100_000_000, 400_000_000)
        reading_shown(400_000_000, 400_000_000)
    bar = f"{'█' * 6}{'░' * 18}  reading the source: 400 MB"
    assert screen.getvalue() == f"{bar}\r\x1b[K"
    assert pipe.getvalue() == ""
