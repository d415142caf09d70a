"""A terminal's last line: whatever is drawn there gives way to the next whole line."""

from __future__ import annotations

import threading
from collections.abc import Callable

from launchers.cli.show.streams import silence_stdout

# Uploads tell from several threads how far they are.
drawing = threading.RLock()
_leave: list[Callable[[], None]] = []


def occupy(leave: Callable[[], None]) -> None:
    """Something is drawn there from now on; ``leave`` takes it away."""
    with drawing:
        give_way()
        _leave.append(leave)


def give_way() -> None:
    """Leave the last line empty, with the cursor at its beginning."""
    with drawing:
        while _leave:
            try:
                _leave.pop()()
            except BrokenPipeError:
                # The terminal is gone; whoever has to know hears it at the next line.
                silence_stdout()
