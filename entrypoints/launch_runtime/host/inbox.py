"""What reaches an agent: signals, the end of its launcher, events of its ranks."""

from __future__ import annotations

import os
import queue
import signal
import threading
from typing import Any


class Inbox:
    """Events in the order in which they come; anybody may :meth:`put` one, from any thread."""

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()

    def put(self, *event: Any) -> None:
        """An event: its kind, and what belongs to it."""
        self._events.put(event)

    def listen(self) -> None:
        """From now on signals come in, and ``orphaned`` once LAUNCH_LIFELINE_FD is closed."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:  # nohup
                signal.signal(number, lambda number, _: self.put("stop", number))
        signal.signal(signal.SIGCHLD, lambda *_: self.put("look"))
        lifeline = os.environ.pop("LAUNCH_LIFELINE_FD", "")
        if lifeline.isdigit():
            threading.Thread(target=self._hold_on, args=(int(lifeline),), daemon=True).start()

    def take(self, seconds: float = 0.0) -> tuple[Any, ...] | None:
        """The next event; None where none comes. Blocks for ``seconds`` at most."""
        try:
            return self._events.get(timeout=seconds) if seconds else self._events.get_nowait()
        except queue.Empty:
            return None

    def _hold_on(self, lifeline: int) -> None:
        """Blocks until the launcher's end of its pipe is closed."""
        try:
            while os.read(lifeline, 64):
                continue
        except OSError:
            return
        self.put("orphaned")
