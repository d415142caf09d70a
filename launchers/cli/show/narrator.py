"""What a provider tells while it works, as lines on stderr; on a terminal, a bar for bytes."""

from __future__ import annotations

import threading

from launchers.cli.show.output import say, styled
from launchers.cli.show.progress import ByteProgress
from launchers.core.model.jobs import Listener


class Narrator(Listener):
    """Prints to stderr. Safe to use from several threads.

    Args:
        label: Stands before every line, where several jobs speak at once.
    """

    def __init__(self, label: str = ""):
        self._label = f"{label}: " if label else ""
        self._lock = threading.Lock()
        self._bytes = ByteProgress(self._label)

    def say(self, text: str) -> None:
        """One line."""
        with self._lock:
            say(styled(f"{self._label}{text}", "dim"))

    def progress(self, label: str, done: int, total: int) -> None:
        """A bar on a terminal, a line now and then in a pipe, and one line at the end."""
        with self._lock:
            self._bytes.show(label, done, total)
