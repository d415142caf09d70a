"""What is still to be sent: a short queue in memory, and behind it a file of this machine."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
import threading
from collections import deque
from typing import Iterator, Sequence, TextIO

from .records import Record, from_line, to_line

MOST_IN_MEMORY = 1000
REFILL = 100  # records that are read back at once


class Backlog:
    """Records in order. ``add`` never waits for whoever takes them, and never raises.

    Args:
        most: Records that memory holds; what comes on top goes to a file in the folder for
            temporary files, which nobody else can read and which is gone with the process.
    """

    def __init__(self, most: int = MOST_IN_MEMORY):
        self._most = most
        self._lock = threading.Lock()
        self._some = threading.Condition(self._lock)
        self._memory: deque[Record] = deque()
        self._file: TextIO | None = None
        self._in_file, self._read_to, self._write_at = 0, 0, 0
        self._closed = False
        self.lost = 0  # records that neither memory nor disk could hold

    def __len__(self) -> int:
        with self._lock:
            return len(self._memory) + self._in_file

    def add(self, one: Record) -> None:
        """Takes ``one`` to the end."""
        with self._some:
            self._append(one)
            self._some.notify_all()

    def put_behind(self) -> None:
        """Moves the first one behind all others."""
        with self._lock:
            if self._memory and not self._closed:
                self._append(self._memory.popleft())

    def first(self, count: int) -> Sequence[Record]:
        """Up to ``count`` records from the front, which stay; of one kind."""
        with self._lock:
            if not self._memory:
                self._refill()
            kind = self._memory[0]["what"] if self._memory else ""
            same = itertools.takewhile(lambda one: one["what"] == kind, self._memory)
            return list(itertools.islice(same, count))

    def drop(self, count: int) -> None:
        """Removes so many from the front, where nobody has taken all that was left."""
        with self._lock:
            for _ in range(0 if self._closed else count):
                self._memory.popleft()

    def wait(self, seconds: float | None = None) -> None:
        """Blocks until there is something, ``wake`` was called, or the time is over."""
        with self._some:
            if not self._memory and not self._in_file:
                self._some.wait(seconds)

    def wake(self) -> None:
        """Ends a ``wait`` in another thread."""
        with self._some:
            self._some.notify_all()

    def all(self) -> Sequence[Record]:
        """What there is, from the front; all of it stays."""
        with self._lock:
            found = list(self._memory)
            if self._file is not None:
                with contextlib.suppress(OSError, ValueError):
                    self._file.seek(self._read_to)
                    found += [from_line(self._file.readline()) for _ in range(self._in_file)]
            return found

    def rest(self) -> Iterator[Record]:
        """Takes all that is left, from the front; whoever was sending it is too late."""
        while True:
            with self._lock:
                self._closed = True
                if not self._memory:
                    self._refill()
                if not self._memory:
                    return
                one = self._memory.popleft()
            yield one

    def _append(self, one: Record) -> None:
        if self._in_file or len(self._memory) >= self._most:
            self._write(one)
        else:
            self._memory.append(one)

    def _write(self, one: Record) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115
            self._file.seek(self._write_at)
            self._file.write(to_line(one))
            self._write_at = self._file.tell()
            self._in_file += 1
        except (OSError, ValueError):
            self.lost += 1

    def _refill(self) -> None:
        if not self._in_file or self._file is None:
            return
        try:
            self._file.seek(self._read_to)
            for _ in range(min(REFILL, self._in_file)):
                self._memory.append(from_line(self._file.readline()))
                self._in_file -= 1
            self._read_to = self._file.tell()
        except (OSError, ValueError):
            self.lost += self._in_file
            self._in_file = 0
        if not self._in_file:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file, self._read_to, self._write_at = None, 0, 0
