"""What slow work tells while it runs; the command draws it (launchers/cli/show/progress.py)."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Hears of steps that follow one another, and of what the current one is doing."""

    def step(self, title: str) -> None:
        """The step before has ended well; this one begins."""

    def note(self, text: str) -> None:
        """What the current step is doing now; only the newest counts."""

    def keep(self, text: str) -> None:
        """A line that stays."""


def clock(seconds: float) -> str:
    """``seconds`` as ``m:ss`` or ``h:mm:ss``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def size_text(size: float) -> str:
    """Bytes as ``2.3 GB`` or ``85 MB``, in powers of ten as Docker prints them."""
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
