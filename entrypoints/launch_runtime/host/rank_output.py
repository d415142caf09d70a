"""Reads what one rank writes, and what its guard says about it.

Every rank has one pipe for both its streams, and a status pipe on which the guard says what
happens. A guard says that its script has failed before it prints the traceback, and that is read
first here. So the traceback can be held back until it is known whether this rank was the first
one of the whole job to fail. The proof of the world size comes on the status pipe too, and becomes
a line here, with the job's stamp.
"""

from __future__ import annotations

import json
import os
import re
import select
import threading
import time
from typing import Any, Callable, Sequence

from launch_runtime import lines
from launch_runtime.host.console import Console
from launch_runtime.host.line_splitter import LineSplitter
from launch_runtime.host.moving_counts import MovingCounts
from launch_runtime.masking import Masker

_LONGEST_IDLE = 1 << 14  # bytes that are looked at for lines without progress
# What is said of a process that aborts: by PyTorch's watchdog, and by C++ of an exception that
# nobody catches; and the beginnings of both.
_ABORTS = re.compile(
    rb"(?:watchdog thread terminated with exception: |"
    rb"^[ \t]*what\(\):\s+(?:[^\n]*terminated with exception: )?)([^\n]+)\n",
    re.MULTILINE,
)
_ABORT_BEGINS = (b"watchdog thread terminated", b"terminate called")
_LONGEST_ABORT = 1 << 13  # bytes from there on
_CAUGHT_UP_SECONDS, _LOOK_SECONDS = 0.2, 0.005
_LONGEST_WORDS = 1 << 12  # bytes in which a rank's last line is looked for
_LONGEST_EVENT = 1 << 20  # bytes; what has no end by then is none
# What an event of another form than the guard's raises where it is taken.
_NO_EVENT = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)


class RankOutput(threading.Thread):
    """Reads what one rank writes until both its pipes end.

    Args:
        rank: The global rank.
        output: Read end of the pipe that is the rank's stdout and stderr.
        status: Read end of the pipe on which its guard says what happens.
        console: Where lines go.
        log_path: A file for the raw bytes, or "".
        stamp: The job's, for the proof.
        on_event: Called from this thread with the rank and each event of the guard that is not
            a line to print; ``{"event": "log-lost"}`` when the raw log could not be written.
        idle: Lines that say nothing but that the rank waits, as a regular expression, or "".
        counts: Looks for counts that go up in what it writes, or None.

    Attributes:
        proof: What rank 0 has proven, or "".
        heard: When the rank has written a line last that says more than that it waits; monotonic
            seconds.
        moved: When a count in what it writes went up last; the same.

    Raises:
        OSError: The log cannot be opened.
    """

    def __init__(
        self,
        rank: int,
        output: int,
        status: int,
        console: Console,
        log_path: str,
        stamp: str,
        on_event: Callable[[int, dict[str, Any]], None],
        idle: str = "",
        counts: MovingCounts | None = None,
    ):
        super().__init__(daemon=True)
        self._rank, self._console, self._on_event = rank, console, on_event
        self._output, self._status = output, status
        os.set_blocking(status, False)
        self._status_lock, self._log_lock = threading.Lock(), threading.RLock()
        self._splitter = LineSplitter(now=time.monotonic())
        self._masker: Masker | None = None  # where the rank has secrets
        self._status_rest = b""
        self._end = b""  # of what was read, not masked
        self._abort = b""  # the same, from the last words of an abort on
        self._stamp = stamp
        self.proof = ""
        self.heard = self.moved = time.monotonic()
        self._counts = counts
        self._idle = re.compile(idle.encode()) if idle else None
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._log_path = log_path
        self._log: int | None = os.open(log_path, flags, 0o600) if log_path else None

    def run(self) -> None:
        """Blocks until the rank and everything that inherited its output has ended."""
        poll = select.poll()
        poll.register(self._output, select.POLLIN)
        poll.register(self._status, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            data = os.read(self._output, 1 << 16) if self._output in ready else None
            if data:
                self._remember(data)
            # Read last and used first: what the guard says before a traceback is known now.
            if not self.read_status() and self._status in ready:
                poll.unregister(self._status)
            if data:
                if not self._is_idle(data):
                    self._hear(data)
                self._show(self._masker.feed(data) if self._masker else data)
            elif data is not None:
                break
        if self._masker:
            self._show(self._masker.flush())
        self._forward(self._splitter.flush())
        with self._status_lock:
            os.close(self._output)
            os.close(self._status)
            self._status = -1
        with self._log_lock:
            if self._log is not None:
                os.close(self._log)
            self._log = None

    def prove(self, text: str) -> None:
        """Prints the proof, if this is rank 0, and it is the first; from any thread."""
        with self._log_lock:
            if self._rank != 0 or self.proof:
                return
            self.proof = lines.one_line(text)
        self._say(lines.proof(self.proof, self._stamp))

    def say(self, texts: Sequence[str]) -> None:
        """Lines about the rank, as lines of it; from any thread."""
        for text in texts:
            self._say(text)

    def read_status(self) -> bool:
        """Takes what the guard has said, from any thread and at once; False at its pipe's end."""
        with self._status_lock:
            while self._status >= 0:
                try:
                    data = os.read(self._status, 1 << 16)
                except BlockingIOError:
                    return True
                if not data:
                    return False
                *whole, self._status_rest = (self._status_rest + data).split(b"\n")
                for line in whole:
                    try:
                        self._take(json.loads(line))
                    except _NO_EVENT:
                        continue  # the script wrote to a descriptor that is not its own
                if len(self._status_rest) > _LONGEST_EVENT:
                    self._status_rest = b""
        return False

    def _take(self, event: dict[str, Any]) -> None:
        if event["event"] == "line":
            self._say(event["text"])
            return
        if event["event"] == "secrets":
            values = [str(value) for value in event["values"]]
            self._masker = self._masker or Masker(())
            self._masker.add(values)
            return
        if event["event"] == "proof":
            self.prove(str(event["text"]))
        if event["event"] == "failing":
            self._console.hold()
            words = self._last_words() if event.get("mute") else ""
            if words:
                event = {**event, "reason": "{}; its last line: {}".format(event["reason"], words)}
        self._on_event(self._rank, event)

    @property
    def abort(self) -> str:
        """What its process has said of its own abort last, or "". Whole lines alone: no part of a
        value that must not be shown is among them."""
        text = self._masker.mask(self._abort) if self._masker else self._abort
        found = _ABORTS.findall(text)
        return lines.one_line(found[-1].decode("utf-8", "replace")) if found else ""

    def _remember(self, data: bytes) -> None:
        end = self._end + data
        self._end = end[-_LONGEST_WORDS:]
        begins = max(map(end.rfind, _ABORT_BEGINS))
        if begins >= 0:
            self._abort = end[begins : begins + _LONGEST_ABORT]
        elif self._abort:
            self._abort = (self._abort + data)[:_LONGEST_ABORT]

    def _last_words(self) -> str:
        """The last line that the rank has written; "" where more of it is yet to be read, and where
        its beginning is not known: a value that must not be shown may stand across that."""
        if not self._has_caught_up():
            return ""
        end = self._end
        if len(end) >= _LONGEST_WORDS and b"\n" not in end.rstrip():
            return ""
        text = self._masker.mask(end) if self._masker else end
        *_, last = [b"", *text.rstrip().splitlines()]
        return lines.one_line(last.decode("utf-8", "replace"))

    def _has_caught_up(self) -> bool:
        """Whether all is read that the rank has written; its own thread is waited for a little."""
        poll, own = select.poll(), threading.current_thread() is self
        poll.register(self._output, select.POLLIN)
        deadline = time.monotonic() + _CAUGHT_UP_SECONDS
        while any(event & select.POLLIN for _, event in poll.poll(0)):
            if own or time.monotonic() > deadline:
                return False
            time.sleep(_LOOK_SECONDS)
        if not own:
            time.sleep(_LOOK_SECONDS)  # what it has read a moment ago is remembered by then
        return True

    def _hear(self, data: bytes) -> None:
        self.heard = time.monotonic()
        if self._counts is not None and self._counts.feed(data):
            self.moved = self.heard

    def _is_idle(self, data: bytes) -> bool:
        """Whether these lines say nothing but that ranks wait."""
        if self._idle is None or len(data) > _LONGEST_IDLE:
            return False
        found = data.splitlines()
        return all(not line.strip() or self._idle.fullmatch(line) for line in found)

    def _show(self, data: bytes) -> None:
        if data:
            self._keep(data)
            self._forward(self._splitter.feed(data, time.monotonic()))

    def _say(self, text: str) -> None:
        line = text.encode("utf-8", "replace")
        self._keep(line + b"\n")
        self._console.rank_lines(self._rank, [line], wait=False)

    def _forward(self, found: list[bytes]) -> None:
        if found:
            self._console.rank_lines(self._rank, found)

    def _keep(self, data: bytes) -> None:
        with self._log_lock:
            if self._log is None:
                return
            try:
                lines.write_all(self._log, data)
            except OSError as error:
                os.close(self._log)
                self._log = None
                reason = f"{self._log_path}: {error.strerror}"
                self._on_event(self._rank, {"event": "log-lost", "reason": reason})
