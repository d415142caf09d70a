"""What a provider tells while it works, as lines on stderr; on a terminal, a bar for bytes."""

from __future__ import annotations

import sys
import threading

from launchers.cli.show.output import say, styled
from launchers.core.model.jobs import Listener
from launchers.core.printable import printable

_BAR_WIDTH = 24


class Narrator(Listener):
    """Prints to stderr. Safe to use from several threads.

    Args:
        label: Stands before every line, where several jobs speak at once.
    """

    def __init__(self, label: str = ""):
        self._label = f"{label}: " if label else ""
        self._lock = threading.Lock()
        self._open = False

    def say(self, text: str) -> None:
        """One line."""
        with self._lock:
            self._close()
            say(styled(f"{self._label}{text}", "dim"))

    def progress(self, label: str, done: int, total: int) -> None:
        """A bar on a terminal, else one line at the end."""
        whole = printable(f"{self._label}{label}: {total / 1e6:.1f} MB")
        with self._lock:
            if not sys.stderr.isatty() or self._label:
                if done >= total:
                    say(whole)
                return
            filled = int(_BAR_WIDTH * done / max(total, 1))
            bar = "█" * filled + "░" * (_BAR_WIDTH - filled)
            print(f"\r\x1b[K{bar}  {whole}", end="", file=sys.stderr, flush=True)
            self._open = True
            if done >= total:
                self._close()

    def _close(self) -> None:
        if self._open:
            print(file=sys.stderr, flush=True)
            self._open = False
