"""What a provider tells while it works, as lines on stderr; on a terminal, a bar for bytes."""

from __future__ import annotations

import sys
import threading

from launchers.cli.show.output import bar, say, show_bar, styled
from launchers.core.model.jobs import Listener
from launchers.core.printable import printable


class Narrator(Listener):
    """Prints to stderr. Safe to use from several threads.

    Args:
        label: Stands before every line, where several jobs speak at once.
    """

    def __init__(self, label: str = ""):
        self._label = f"{label}: " if label else ""
        self._lock = threading.Lock()

    def say(self, text: str) -> None:
        """One line."""
        with self._lock:
            say(styled(f"{self._label}{text}", "dim"))

    def progress(self, label: str, done: int, total: int) -> None:
        """A bar on a terminal, and one line at the end."""
        whole = printable(f"{self._label}{label}: {total / 1e6:.1f} MB")
        with self._lock:
            if done >= total:
                say(whole)
            elif sys.stderr.isatty() and not self._label:
                show_bar(f"{bar(done / total)}  {whole}", sys.stderr)
