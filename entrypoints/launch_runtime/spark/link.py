"""The line between the ranks and the driver: signed reports, and the job's state in answer.

Horovod's own streams of output come to the driver in pieces of 64 KiB, or at a rank's end, and
say neither host nor rank; its services end no rank when another one fails. So each rank brings its
lines and its failures itself, hears the verdict, and ends when it hears nothing any more. The key
is drawn for each job. Messages are signed with it and not secret, as between agents.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
import uuid
from typing import Any, Callable, Mapping, NamedTuple

from launch_runtime import lines
from launch_runtime.failures import Failure, from_fields
from launch_runtime.host import network
from launch_runtime.host.peers.first_host import FirstHost
from launch_runtime.host.peers.keys import Keys
from launch_runtime.host.peers.rendezvous import Rendezvous, SharedKeys
from launch_runtime.host.peers.signatures import Key
from launch_runtime.host.settings import BEAT_SECONDS
from launch_runtime.spark.course import Course

REFUSED_SECONDS = 2.0  # of a driver whose machine is up: it is gone
UNHEARD_SECONDS = 10.0  # of one that does not answer
FIRST_SECONDS = 30.0  # of one that never did
_BUSY_SECONDS = 0.1  # between two pieces where the driver could not take the last one
_PIECE = 256 << 10  # bytes of output in a report


class Reception:
    """The driver's end: listens until :meth:`close`.

    Args:
        course: Takes the reports.
        ranks: How many there are.
        address: By which executors reach the driver.
        say: Prints a line for people.
        listened: The address to listen on; "" for loopback where ``address`` is that, else for
            all interfaces.

    Attributes:
        contact: What a rank has to know: ``address``, ``port`` and ``key``.

    Raises:
        PortError: No port can be had.
    """

    def __init__(
        self,
        course: Course,
        ranks: int,
        address: str,
        say: Callable[[str], None],
        listened: str = "",
    ):
        key = secrets.token_hex(16)
        self._rendezvous = Rendezvous(
            listened or ("127.0.0.1" if network.is_loopback(address) else "0.0.0.0"),
            0,
            Key(key),
            uuid.uuid4().hex,
            ranks,
            lambda report: course.report(report, time.monotonic()),
            SharedKeys(Keys(ranks, 1)),
            say,
        )
        self.contact = {"address": address, "port": self._rendezvous.port, "key": key}

    def close(self) -> None:
        """Frees the port; blocks for a moment."""
        self._rendezvous.close()


class State(NamedTuple):
    """The driver's last answer; see :meth:`Course.report`."""

    name: str = ""
    devices: str = ""
    verdict: Failure | None = None
    taken: int = 0
    done: bool = False


class Link:
    """A rank's end: reports twice a second, and at once when there is news.

    Args:
        contact: Of the driver.
        rank: The global rank.
        known: What the reports say of the rank besides.
        wake: Called from another thread when the answer was news.

    Attributes:
        descriptor: Write end of a pipe for whole tagged lines.
        state: The driver's last answer.
    """

    def __init__(
        self,
        contact: Mapping[str, Any],
        rank: int,
        known: Mapping[str, Any],
        wake: Callable[[], None],
    ):
        start = uuid.uuid4().hex
        self._place = "{}:{}".format(contact["address"], contact["port"])
        self._driver = FirstHost(
            str(contact["address"]),
            [int(contact["port"])],
            Key(str(contact["key"])),
            rank,
            start,
            lambda text: print(text, flush=True),
        )
        self._wake = wake
        self._report: dict[str, Any] = {**known, "rank": rank, "start": start, "failures": []}
        self._read_end, self.descriptor = os.pipe()
        self._lock = threading.Condition()
        self._text = b""  # lines that wait to be reported
        # The first of them, as it was reported first: the driver knows it by its number alone, and
        # may have taken it though its answer was lost.
        self._piece = b""
        self._pieces = 0
        self._read_all = False
        self.state = State()
        self._started = self._answered = time.monotonic()
        self._heard = False
        self._trouble = ""  # what the last report met
        self._refused: float | None = None
        self._closed = False
        self._news = threading.Event()
        self._threads = [
            threading.Thread(target=run, daemon=True) for run in (self._read, self._beat)
        ]

    def start(self) -> None:
        """Begins to report."""
        for thread in self._threads:
            thread.start()

    @property
    def gone(self) -> bool:
        """Whether nobody hears this rank any more, so that it has to end."""
        now = time.monotonic()
        if not self._heard:
            return now - self._started > FIRST_SECONDS
        refused = self._refused is not None and now - self._refused > REFUSED_SECONDS
        return refused or now - self._answered > UNHEARD_SECONDS

    @property
    def why_gone(self) -> str:
        """What to say of it then."""
        if self._heard:
            return "the driver is gone"
        trouble = f" ({self._trouble})" if self._trouble else ""
        return (
            f"the driver at {self._place} could not be reached from this machine in "
            f"{FIRST_SECONDS:g} s{trouble}: the port has to be open to all executors"
        )

    def claim(self, failure: Failure) -> None:
        """Reports a failure of this rank."""
        with self._lock:
            self._report["failures"] = [*self._report["failures"], failure.fields()]
        self._news.set()

    def finish(self, result: Mapping[str, Any], seconds: float) -> None:
        """Reports all lines that are left, and then how the rank has ended; blocks for up to
        ``seconds``, and no longer than somebody hears it. Nothing may be written to
        ``descriptor`` any more."""
        os.close(self.descriptor)
        deadline = time.monotonic() + seconds
        while not self._delivered and time.monotonic() < deadline and not self.gone:
            self._news.set()
            time.sleep(0.02)
        with self._lock:
            self._report["result"] = dict(result)
        while not self.state.done and time.monotonic() < deadline + 1.0 and not self.gone:
            self._news.set()
            time.sleep(0.02)
        self.stop()

    def stop(self) -> None:
        """Reports no more."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
        self._news.set()

    @property
    def _delivered(self) -> bool:
        return self._read_all and not self._text

    def _read(self) -> None:
        """Takes lines in, no more than are soon to be reported: who writes has to wait."""
        rest = b""
        while True:
            data = os.read(self._read_end, 1 << 16)
            whole, end, rest = (rest + data).rpartition(b"\n")
            with self._lock:
                self._text += whole + end if data else rest
                self._read_all = not data
                self._news.set()
                self._lock.wait_for(lambda: len(self._text) < _PIECE or self._closed)
            if not data:
                os.close(self._read_end)
                return

    def _beat(self) -> None:
        while not self._closed:
            with self._lock:
                self._piece = self._piece or self._first_lines()
                report = {**self._report, "piece": self._pieces + 1}
                if self._piece:
                    report["text"] = self._piece.decode("utf-8", "replace")
            try:
                answer = self._driver.report(report)
            except (OSError, ValueError) as error:
                refused = isinstance(error, ConnectionRefusedError)
                self._refused = (self._refused or time.monotonic()) if refused else None
                self._trouble = lines.one_line(str(error), limit=150)
                taken = False
            else:
                taken = self._take(answer)
            busy = self._text and not taken
            self._news.wait(_BUSY_SECONDS if busy else 0 if self._text else BEAT_SECONDS)
            self._news.clear()

    def _first_lines(self) -> bytes:
        """As many of the waiting lines as go into a report; of a longer one as much of it."""
        return self._text[: self._text.rfind(b"\n", 0, _PIECE) + 1] or self._text[:_PIECE]

    def _take(self, answer: dict[str, Any]) -> bool:
        fields = answer["verdict"]
        state = State(
            str(answer["name"]),
            str(answer["devices"]),
            from_fields(fields) if fields else None,
            int(answer["taken"]),
            bool(answer["done"]),
        )
        with self._lock:
            self._answered, self._refused, self._heard = time.monotonic(), None, True
            taken = state.taken > self._pieces
            if taken:
                self._pieces, self._text = state.taken, self._text[len(self._piece) :]
                self._piece = b""
                self._lock.notify_all()
            news = (state.name, state.verdict) != (self.state.name, self.state.verdict)
            self.state = state
        if news:
            self._wake()
        return taken
