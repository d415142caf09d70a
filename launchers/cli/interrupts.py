"""Ctrl-C, SIGTERM and a closed terminal are one thing to every verb: KeyboardInterrupt."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Windows has none.
_HANG_UP = getattr(signal, "SIGHUP", None)
_SIGNALS = tuple(filter(None, (signal.SIGINT, signal.SIGTERM, _HANG_UP)))


def listen() -> None:
    """Take the signals of the whole process. One that whoever started it wants ignored (nohup,
    a shell's background) stays ignored."""
    signal.signal(signal.SIGTERM, _interrupt)
    if _HANG_UP and signal.getsignal(_HANG_UP) is not signal.SIG_IGN:
        signal.signal(_HANG_UP, _hang_up)


@contextmanager
def held_back(really: bool = True) -> Iterator[list[int]]:
    """What asks for an end while the block runs is only noted, in the list that this gives: for
    steps that are short and must not be left half way.

    Args:
        really: False changes nothing.
    """
    told: list[int] = []

    def note(number: int, frame: Any) -> None:
        told.append(number)

    heard = [number for number in _SIGNALS if really and callable(signal.getsignal(number))]
    before = {number: signal.signal(number, note) for number in heard}
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


def terminal_is_gone() -> None:
    """It was seen at a write: a SIGHUP that says so too is not heard any more."""
    _hung_up.append(signal.SIGTERM)


def _hang_up(number: int, frame: Any) -> None:
    """The kernel and the shell may both tell of one closed terminal: the second one is no
    impatient user, and does not cut the end of the job short."""
    if not _hung_up:
        _hung_up.append(number)
        raise KeyboardInterrupt


_hung_up: list[int] = []
