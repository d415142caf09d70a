"""A slow step shows its time, a failed one shows why, an interrupted one leaves nothing behind."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from infra.bootstrap import progress

pytestmark = pytest.mark.processes

SAYS_AND_WAITS_FOR = """
import os, sys, time
print("halfway", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
"""
STARTS_A_CHILD_AND_WAITS = """
import pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
partial = pathlib.Path(sys.argv[1] + ".partial")
partial.write_text(str(child.pid))
partial.rename(sys.argv[1])
time.sleep(600)
"""


class Screen(io.StringIO):
    """A screen that calls back once it shows a word."""

    def __init__(self, word: str, react: Callable[[], None], terminal: bool = False):
        super().__init__()
        self.word, self.react, self.terminal = word, react, terminal

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        written = super().write(text)
        if self.word in text:
            self.react()
        return written


@pytest.mark.parametrize("terminal", [False, True])
def test_elapsed_time_is_shown_while_a_step_goes_on(
    terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PIPE_INTERVAL", 0.02)
    monkeypatch.setattr(progress, "TERMINAL_INTERVAL", 0.02)
    seen = tmp_path / "seen"
    screen = Screen("0:00  halfway", seen.touch, terminal)
    command = [sys.executable, "-c", SAYS_AND_WAITS_FOR, str(seen)]

    progress.run_step("Compiling", command, tmp_path / "log", expected="long", screen=screen)

    lines = screen.getvalue().split("\n")
    assert lines[0] == "Compiling (long)"
    assert lines[-2].endswith("  done in 0:00") or "done in" in lines[-2]
    # A terminal's line is redrawn in place; a pipe gets lines of their own.
    assert ("\r\x1b[K" in screen.getvalue()) == terminal


def test_a_failed_step_shows_the_end_of_its_output_and_where_the_rest_is(tmp_path: Path) -> None:
    screen, log = io.StringIO(), tmp_path / "logs" / "build.log"
    program = "import sys; [print(f'line {n}') for n in range(1000)]; sys.exit(7)"

    with pytest.raises(progress.StepError):
        progress.run_step("Compiling", [sys.executable, "-c", program], log, screen=screen)

    said = screen.getvalue()
    assert "  | line 999\n" in said
    assert "line 900\n" not in said
    assert f"(exit code 7; the whole output: {log})" in said
    assert "line 0\n" in log.read_text()


def test_an_interrupted_step_ends_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PIPE_INTERVAL", 0.02)
    written = tmp_path / "pid"

    def interrupt() -> None:
        if written.exists():
            raise KeyboardInterrupt

    command = [sys.executable, "-c", STARTS_A_CHILD_AND_WAITS, str(written)]
    with pytest.raises(KeyboardInterrupt):
        progress.run_step("Step", command, tmp_path / "log", screen=Screen("  0:", interrupt))

    child = Path("/proc") / written.read_text()
    deadline = time.monotonic() + 20
    while _runs(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _runs(child)


def test_a_step_gets_no_standard_input(tmp_path: Path) -> None:
    program = "import sys; assert sys.stdin.read() == ''"

    progress.run_step(
        "Step", [sys.executable, "-c", program], tmp_path / "log", screen=io.StringIO()
    )


def test_what_moves_the_cursor_is_not_passed_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"old\n10%\r20%\x1b[2J \n\n")

    assert progress._last_line(log, r"\S") == "20%[2J"


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0.4, "0:00"), (59.6, "1:00"), (83, "1:23"), (3723, "1:02:03")]
)
def test_a_clock_reads_as_people_write_it(seconds: float, expected: str) -> None:
    assert progress.clock(seconds) == expected


def _runs(process: Path) -> bool:
    """Whether a process is there and not merely waiting to be collected."""
    try:
        return (process / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
    finally:
        os.sched_yield()
