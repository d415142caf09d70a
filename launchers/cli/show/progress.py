"""Progress of slow work: a bar by rich on a terminal, a line now and then in a pipe.

rich is imported when the first bar is drawn, so that no short command pays for it.
"""

from __future__ import annotations

import atexit
import os
import re
import sys
import threading
import time
from types import TracebackType
from typing import IO, Any

from launchers.cli.show.last_line import drawing, give_way, occupy
from launchers.cli.show.output import colours, say
from launchers.core.printable import printable, printable_message
from launchers.docker.progress import clock

_BAR_WIDTH = 24
# How often a bar is drawn anew, and how often a pipe gets a line, in seconds.
_TERMINAL_SECONDS = 0.2
PIPE_SECONDS = 15.0

BYTES, STEPS, PLAIN, NOTED = "bytes", "steps", "plain", "noted"


def draws(stream: IO[str]) -> bool:
    """Whether ``stream`` is a terminal on which a line can be taken back."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class Bar:
    """How far something is, on a terminal's last line; nothing anywhere else.

    It gives way to every line that is printed meanwhile (launchers.cli.show.last_line), and comes
    back with the next :meth:`show`. Safe to use from several threads.

    Args:
        kind: BYTES with rate and time left, PLAIN with time left, STEPS with the time so far,
            which goes on by itself, NOTED with the note alone.
    """

    def __init__(self, stream: IO[str], kind: str = PLAIN):
        self._stream, self._kind = stream, kind
        self._on = draws(stream)
        self._progress: Any = None
        self._task: Any = None
        self._stale = False  # what was shown last is not drawn
        self._drawn = 0.0
        self._stop = threading.Event()
        self._ticker: threading.Thread | None = None

    def show(self, label: str, done: float, total: float | None, note: str = "") -> None:
        """``done`` of ``total``; None for a total that is not known."""
        if not self._on:
            return
        with drawing:
            if self._progress is None:
                self._begin()
            self._progress.update(
                self._task, description=label, completed=done, total=total, note=note
            )
            self._stale = True
            if time.monotonic() - self._drawn >= _TERMINAL_SECONDS:
                self._draw()

    def begin_anew(self) -> None:
        """What comes now is another thing: its time and its rate begin with it."""
        with drawing:
            if self._progress is not None:
                self._progress.reset(self._task)

    def end(self) -> None:
        """Leave the line clean."""
        self._stop.set()
        with drawing:
            self._stale = False
            if self._progress is not None:
                give_way()
        if self._ticker is not None and self._ticker is not threading.current_thread():
            self._ticker.join()

    def _begin(self) -> None:
        self._progress = _rich_progress(self._stream, self._kind)
        self._task = self._progress.add_task("", total=None, note="")
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._ticker.start()
        atexit.register(give_way)

    def _tick(self) -> None:
        while not self._stop.wait(_TERMINAL_SECONDS):
            with drawing:
                if (self._stale or self._kind == STEPS) and not self._stop.is_set():
                    self._draw()

    def _draw(self) -> None:
        self._drawn, self._stale = time.monotonic(), False
        if self._progress.live.is_started:
            self._progress.refresh()
        else:
            occupy(self._progress.stop)
            self._progress.start()


def _rich_progress(stream: IO[str], kind: str) -> Any:
    from rich import progress as by_rich
    from rich.console import Console

    class Steady(Console):
        def show_cursor(self, show: bool = True) -> bool:
            """It is never hidden: a launcher that is killed leaves the terminal as it was."""
            return False

    console = Steady(file=stream, no_color=not colours(stream), highlight=False)
    label = by_rich.TextColumn("{task.description}", markup=False)
    columns: dict[str, list[Any]] = {
        BYTES: [
            label,
            by_rich.BarColumn(_BAR_WIDTH),
            by_rich.DownloadColumn(),
            by_rich.TransferSpeedColumn(),
            by_rich.TimeRemainingColumn(compact=True),
        ],
        PLAIN: [by_rich.BarColumn(_BAR_WIDTH), label, by_rich.TimeRemainingColumn(compact=True)],
        STEPS: [
            by_rich.BarColumn(_BAR_WIDTH),
            label,
            by_rich.TimeElapsedColumn(),
            by_rich.TextColumn("{task.fields[note]}", markup=False, style="dim"),
        ],
        NOTED: [
            by_rich.BarColumn(_BAR_WIDTH),
            label,
            by_rich.TextColumn("{task.fields[note]}", markup=False, style="dim"),
        ],
    }
    return by_rich.Progress(
        *columns[kind],
        console=console,
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )


class ByteProgress:
    """How many bytes of something have arrived: a bar on a terminal, a line every 15 s in a pipe,
    and one at the end.

    Args:
        label: Of the job, where several speak at once; then there is no bar.
    """

    def __init__(self, label: str = ""):
        self._label = label
        self._bar: Bar | None = None
        self._told = time.monotonic()

    def show(self, label: str, done: int, total: int) -> None:
        """``done`` of ``total`` bytes of ``label``."""
        text = printable(f"{self._label}{label}")
        if done >= total:
            self._end()
            say(f"{text}: {total / 1e6:.1f} MB")
            return
        if draws(sys.stderr):
            if not self._label:
                self._bar = self._bar or Bar(sys.stderr, BYTES)
                self._bar.show(text, done, total)
        elif time.monotonic() - self._told >= PIPE_SECONDS:
            self._told = time.monotonic()
            say(f"{text}: {done / 1e6:.0f} of {total / 1e6:.0f} MB")

    def _end(self) -> None:
        if self._bar is not None:
            self._bar.end()
        self._bar = None


def reading_shown(done: int, total: int) -> None:
    """How much of a large source is read: a bar on a terminal, and nothing anywhere else."""
    bar = _reading.pop() if _reading else Bar(sys.stderr, BYTES)
    if done >= total:
        bar.end()
    else:
        bar.show("reading the source", done, total)
        _reading.append(bar)


_reading: list[Bar] = []


class LiveProgress:
    """A launchers.docker.progress.Progress that draws itself; a context manager.

    Each step leaves one line, with its time, when it ends. Until then a terminal shows it live;
    a pipe gets a line every 15 s.
    """

    def __init__(self, stream: IO[str] | None = None):
        self._stream = stream or sys.stderr
        self._bar = Bar(self._stream, STEPS) if draws(self._stream) else None
        self._lock = threading.RLock()
        self._stop = threading.Event()
        self._title = ""
        self._note = ""
        self._began = 0.0
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> LiveProgress:
        if self._bar is None:
            self._ticker.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        with self._lock:
            self._close(
                "failed" if kind and issubclass(kind, Exception) else "interrupted" if kind else ""
            )
        if self._bar is None:
            self._ticker.join()
        else:
            self._bar.end()

    def step(self, title: str) -> None:
        """The step before has ended well; this one begins."""
        with self._lock:
            self._close("")
            self._title, self._note, self._began = title, "", time.monotonic()
            if self._bar is not None:
                self._bar.begin_anew()
                self._show()

    def note(self, text: str) -> None:
        """What the current step is doing now."""
        self._note = text
        if self._bar is not None and self._title:
            self._show()

    def keep(self, text: str) -> None:
        """A line that stays."""
        with self._lock:
            self._print(text)

    def _close(self, word: str) -> None:
        if self._title:
            cached = self._note == "cached" and not word
            end = "cached" if cached else f"{word} {clock(time.monotonic() - self._began)}".strip()
            self._print(f"  {self._title}: {end}")
        self._title = ""

    def _show(self) -> None:
        assert self._bar is not None
        step = re.match(r"(\d+)/(\d+) ", self._title)
        done, total = (int(step[1]) - 1, int(step[2])) if step else (0, None)
        self._bar.show(self._title, done, total, printable(self._note))

    def _tick(self) -> None:
        while not self._stop.wait(PIPE_SECONDS):
            with self._lock:
                if self._title and not self._stop.is_set():
                    line = (
                        f"  {self._title}  {clock(time.monotonic() - self._began)}  "
                        f"{printable(self._note)}"
                    )
                    print(line[:160].rstrip(), file=self._stream, flush=True)

    def _print(self, text: str) -> None:
        give_way()
        print(printable_message(text), file=self._stream, flush=True)
