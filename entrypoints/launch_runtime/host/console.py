"""The agent's standard output: whole tagged lines, and a gate for those of the ranks."""

from __future__ import annotations

import threading
from collections import deque
from typing import Callable

from launch_runtime import lines

QUEUE_LIMIT = 1 << 20  # bytes waiting to be written before the ranks have to wait
HELD_LIMIT = 4 << 20  # bytes of lines held back
_MOST_WARNINGS = 1000  # that are known again


class Console:
    """Writes from one thread, so that no line is interleaved and no other thread is held up.

    Args:
        host: This host's name, for the tags ``[host/rank]`` and ``[host/agent]``.
        descriptor: Where lines go.
        dropped: Takes the lines that the verdict keeps from being shown, where the ranks have no
            logs of their own.
    """

    def __init__(
        self, host: str, descriptor: int = 1, dropped: Callable[[bytes], None] | None = None
    ):
        self._host, self._descriptor, self._dropped = host, descriptor, dropped
        self._changed = threading.Condition()
        self._queue: deque[bytes] = deque()
        self._queued = 0  # bytes in the queue and in the hands of the writer
        self._holding = False
        self._held: list[tuple[int, bytes]] = []
        self._held_bytes = 0
        self._decided = self._opened = False
        self._speaker: int | None = None  # after a verdict: the one rank that may speak
        self._warnings: set[bytes] = set()
        self._broken = False
        threading.Thread(target=self._write, daemon=True).start()

    def say(self, text: str) -> None:
        """A line of the agent's own. Never blocks."""
        with self._changed:
            self._put("agent", text.encode("utf-8", "replace"))

    def rank_lines(self, rank: int, found: list[bytes], wait: bool = True) -> None:
        """Whole lines of a rank: written, held back or dropped. Blocks while the reader is slow,
        unless told not to ``wait``."""
        with self._changed:
            if wait:
                self._changed.wait_for(lambda: self._queued < QUEUE_LIMIT or self._broken)
            for line in found:
                if self._decided and rank != self._speaker:
                    self._drop(line)
                elif self._holding:
                    self._hold(rank, line)
                elif not self._repeated(line):
                    self._put(rank, line)

    def pass_on(self, tagged: bytes) -> bool:
        """Whole lines that another console has tagged; False where so much waits to be written
        already that they have to come again later. Never blocks."""
        with self._changed:
            if self._queued >= QUEUE_LIMIT and not self._broken:
                return False
            self._enqueue(tagged)
            return True

    def hold(self) -> None:
        """A rank of this host has failed: keep all ranks' lines until the verdict."""
        with self._changed:
            self._holding = not (self._decided or self._opened)

    def decide(self, speaker: int | None) -> None:
        """The job's first failure is known: from now on only lines of rank ``speaker`` pass.

        None is a rank of another host, or no rank at all.
        """
        with self._changed:
            if not self._decided:
                self._decided, self._speaker = True, speaker
                self._release(lambda rank: rank == speaker)

    def open(self) -> None:
        """The job ends because somebody asked for that: all ranks may go on to speak."""
        with self._changed:
            self._opened = True
            self._release(lambda rank: True)

    def flush(self, seconds: float) -> None:
        """Blocks until all is written, or for ``seconds``."""
        with self._changed:
            self._changed.wait_for(lambda: not self._queued or self._broken, timeout=seconds)

    def _release(self, passes: Callable[[int], bool]) -> None:
        held, self._held, self._held_bytes, self._holding = self._held, [], 0, False
        for rank, line in held:
            if passes(rank):
                self._put(rank, line)
            else:
                self._drop(line)

    def _drop(self, line: bytes) -> None:
        if self._dropped is not None:
            self._dropped(line)

    def _hold(self, rank: int, line: bytes) -> None:
        self._held_bytes += len(line)
        if self._held_bytes <= HELD_LIMIT:
            self._held.append((rank, line))

    def _repeated(self, line: bytes) -> bool:
        """Whether it is a guard's warning that another rank of this host has printed."""
        if not line.startswith(b"launch: warning: "):
            return False
        repeated = line in self._warnings
        if len(self._warnings) < _MOST_WARNINGS:
            self._warnings.add(line)
        return repeated

    def _put(self, source: str | int, line: bytes) -> None:
        self._enqueue(f"[{self._host}/{source}] ".encode() + line + b"\n")

    def _enqueue(self, tagged: bytes) -> None:
        if not self._broken:
            self._queue.append(tagged)
            self._queued += len(tagged)
            self._changed.notify_all()

    def _write(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue)
                data = b"".join(self._queue)
                self._queue.clear()
            try:
                lines.write_all(self._descriptor, data)
            except OSError:
                # Nobody reads any more. The job goes on: LAUNCH_LIFELINE_FD says if it shall not.
                self._broken = True
            with self._changed:
                self._queued -= len(data)
                self._changed.notify_all()
