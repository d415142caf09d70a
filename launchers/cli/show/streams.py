"""stdout and stderr that a closed terminal does not turn into a crash.

Once its terminal is gone every write to it fails with EIO (tty(4), after a hang-up); a pipe whose
reader ended gives EPIPE. What is said to a person is then said to nobody; what was asked for, on
stdout, ends as for a reader that went away: BrokenPipeError, which every verb handles.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any, TextIO

from launchers.cli import interrupts

_GONE = {errno.EIO, errno.EPIPE, errno.ENXIO}
_FULL = {errno.ENOSPC, errno.EDQUOT}
_STDOUT = "stdout"


class _ForPeople(io.FileIO):
    """A message that nobody can read any more, or that finds no room, is no reason to fail."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except OSError as error:
            if error.errno not in _GONE | _FULL:
                raise
            return memoryview(data).nbytes


class _Answer(io.FileIO):
    """A terminal that is gone is a reader that is gone."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except OSError as error:
            if error.errno in _GONE:
                if error.errno != errno.EPIPE:
                    interrupts.terminal_is_gone()
                raise BrokenPipeError(errno.EPIPE, "the reader is gone") from None
            error.filename = _STDOUT
            raise


def make_steady() -> None:
    """Replace sys.stdout and sys.stderr, for the whole process.

    What a stream's encoding cannot show is written as an escape: a rank may print anything.
    """
    if sys.platform == "win32":  # its console has streams of its own, and no such errors
        return
    sys.stdout = _steady(sys.stdout, _Answer)
    sys.stderr = _steady(sys.stderr, _ForPeople)


def _steady(stream: TextIO | None, kind: type[io.FileIO]) -> TextIO:
    if stream is None:  # closed by whoever started us: no file of ours is to get its number
        return open(os.devnull, "w", encoding="utf-8")
    if not isinstance(stream, io.TextIOWrapper):  # somebody's own
        return stream
    stream.flush()
    raw = kind(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
    )


def silence_stdout() -> None:
    """Nobody reads it any more: what is still written there is not to fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def refused_by_stdout(error: OSError) -> OSError | None:
    """Why stdout cannot take what was or is still to be written there; None where ``error`` is of
    something else. Stdout is silent from then on, so that this is told once."""
    refused = error if error.filename == _STDOUT else None
    if error.filename is None:  # of a stream that is not ours (Windows), perhaps
        refused = _left_over()
    if refused is not None:
        silence_stdout()
    return refused


def _left_over() -> OSError | None:
    if sys.stdout is None:
        return None
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return None
    except OSError as error:
        return error
    return None
