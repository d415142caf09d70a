"""Progress of slow work on stderr: a live line on a terminal, a line now and then in a pipe."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import IO

from launchers.cli.show.output import clear_bar, show_bar
from launchers.core.printable import printable, printable_message
from launchers.docker.progress import clock

# How often elapsed time is shown, in seconds.
_TERMINAL_SECONDS = 0.5
_PIPE_SECONDS = 15.0


class LiveProgress:
    """A launchers.docker.progress.Progress that draws itself; a context manager.

    Each step leaves one line, with its time, when it ends. Until then a terminal shows it live;
    a pipe gets a line every 15 s.
    """

    def __init__(self, stream: IO[str] | None = None):
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._lock = threading.RLock()
        self._stop = threading.Event()
        self._title = ""
        self._note = ""
        self._began = 0.0
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> LiveProgress:
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
        self._ticker.join()

    def step(self, title: str) -> None:
        """The step before has ended well; this one begins."""
        with self._lock:
            self._close("")
            self._title, self._note, self._began = title, "", time.monotonic()
            if self._terminal:
                self._draw()

    def note(self, text: str) -> None:
        """What the current step is doing now."""
        self._note = text

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

    def _tick(self) -> None:
        while not self._stop.wait(_TERMINAL_SECONDS if self._terminal else _PIPE_SECONDS):
            with self._lock:
                if self._title and not self._stop.is_set():
                    self._draw()

    def _draw(self) -> None:
        line = f"  {self._title}  {clock(time.monotonic() - self._began)}  {printable(self._note)}"
        if self._terminal:
            show_bar(line, self._stream)
        else:
            print(line[:160].rstrip(), file=self._stream, flush=True)

    def _print(self, text: str) -> None:
        clear_bar()
        print(printable_message(text), file=self._stream, flush=True)
