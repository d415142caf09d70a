"""What a command shows on a terminal of so many columns, run in this process."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest

from launchers.cli.main import ended
from tests.cli.terminal import plain

# What nothing can be done about on a narrow terminal: a path, an address, an ARN beside its label.
_LABEL = 24


class Screen(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(
    monkeypatch: pytest.MonkeyPatch, columns: int, words: Sequence[str], stdout: bool = True
) -> str:
    """What stands on the screen in the end, stdout and stderr in one.

    Args:
        stdout: Whether stdout is that terminal, too; else it goes to a file.
    """
    screen = Screen()
    with monkeypatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        patch.setenv("TERM", "xterm")
        patch.setattr("sys.stdout", screen if stdout else io.StringIO())
        patch.setattr("sys.stderr", screen)
        ended([*words])
    return plain(screen.getvalue())


def too_wide(text: str, columns: int) -> list[str]:
    """The lines that a terminal would have to fold: but for one word that is too long for any line,
    or stands alone in its own (a path, as long as this checkout's), and a command, which is not cut
    since it can be copied."""
    return [
        line
        for line in text.splitlines()
        if len(line) > columns
        and len(line.split()) > 1
        and max(map(len, line.split())) <= columns - _LABEL
        and not line.lstrip().startswith("launch ")
    ]
