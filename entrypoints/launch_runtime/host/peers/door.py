"""A listening port that strangers can reach: only who is known gets a thread, or a word.

One thread takes all connections and reads each one's first head. Whoever may come in is handed to
a thread of its own; everybody else gets a bare status, and the connection ends. What waits is
bounded in number, size and time (:class:`WaitingRoom`).
"""

from __future__ import annotations

import contextlib
import errno
import selectors
import socket
import threading
import time
from typing import Any, Callable

from launch_runtime.host.peers import wire
from launch_runtime.host.peers.waiting_room import WaitingRoom

_BACKLOG = 512  # connections that the kernel keeps until they are taken
_TAKEN_AT_ONCE = 64
_LOOK_SECONDS = 0.5
NO_THREADS = (
    "this machine starts no more threads for the job (ulimit -u, or its container's limit of "
    "processes)"
)
LONGEST_SILENCE = 10.0  # seconds, in the middle of what somebody known says

# What a head is worth: a value for ``serve``, or None for a stranger's.
Judge = Callable[[bytes, str], Any]


class PortError(Exception):
    """The port cannot be had; the text says which and why."""


class Door:
    """Serves in threads of its own until :meth:`close`.

    Args:
        address: The IPv4 address to listen on; 0.0.0.0 for all.
        port: The TCP port; 0 takes a free one.
        judge: Called with each connection's first head and its address.
        serve: Called in a thread of its own with what ``judge`` gave and a :class:`Line`; the
            connection ends with it.
        refused: The status of HTTP that everybody else gets.
        crowded: Called where no thread can be started for whoever may come in.

    Raises:
        PortError: Somebody else has the port, or this user may not take it.
    """

    def __init__(
        self,
        address: str,
        port: int,
        judge: Judge,
        serve: Callable[[Any, Line], None],
        refused: int = 404,
        crowded: Callable[[], None] = lambda: None,
    ):
        self._judge, self._serve, self._refused = judge, serve, refused
        self._crowded = crowded
        self._room = WaitingRoom()
        self._guests: dict[int, _Guest] = {}
        self._selector = selectors.DefaultSelector()
        self._listener = _listen(address, port)
        self.port: int = self._listener.getsockname()[1]
        self._closing = False
        self._wake, wake = socket.socketpair()
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._selector.register(wake, selectors.EVENT_READ, wake)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Frees the port; blocks for a moment. Who is served already is served on."""
        self._closing = True
        with contextlib.suppress(OSError):
            self._wake.send(b"x")
        self._thread.join(5.0)

    def _run(self) -> None:
        while not self._closing:
            for key, _ in self._selector.select(_LOOK_SECONDS if self._guests else None):
                if key.data is None:
                    self._take_new()
                elif isinstance(key.data, _Guest):
                    self._read(key.data)
            for number in self._room.overdue(time.monotonic()):
                self._send_away(self._guests[number])
        for guest in list(self._guests.values()):
            self._forget(guest)
            guest.socket.close()
        self._selector.close()
        self._listener.close()

    def _take_new(self) -> None:
        for _ in range(_TAKEN_AT_ONCE):
            try:
                connection, address = self._listener.accept()
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    time.sleep(0.01)  # the connections that wait are few, and end soon
                return
            connection.setblocking(False)
            guest = _Guest(connection, str(address[0]))
            self._guests[guest.number] = guest
            self._selector.register(connection, selectors.EVENT_READ, guest)
            crowded = self._room.enter(guest.number, guest.address, time.monotonic())
            if crowded is not None:
                self._send_away(self._guests[crowded])

    def _read(self, guest: _Guest) -> None:
        if guest.number not in self._guests:
            return  # it had to go for another one meanwhile
        try:
            data = guest.socket.recv(wire.LONGEST_HEAD)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        guest.said += data
        head, end, rest = guest.said.partition(wire.END_OF_HEAD)
        if end or len(head) > wire.LONGEST_HEAD:
            self._open_to(guest, head, rest)
        elif not data:
            self._send_away(guest)

    def _open_to(self, guest: _Guest, head: bytes, rest: bytes) -> None:
        admitted = self._judge(head[: wire.LONGEST_HEAD], guest.address)
        if admitted is None:
            self._send_away(guest)
            return
        self._forget(guest)
        guest.socket.setblocking(True)
        line = Line(guest.socket, rest)
        thread = threading.Thread(target=self._attend, args=(admitted, line), daemon=True)
        try:
            thread.start()
        except RuntimeError:  # whoever asks tries again
            line.close()
            self._crowded()

    def _attend(self, admitted: Any, line: Line) -> None:
        try:
            self._serve(admitted, line)
        except (OSError, ValueError):
            pass  # it went away in the middle, or said what nobody says
        finally:
            line.close()

    def _send_away(self, guest: _Guest) -> None:
        self._forget(guest)
        with contextlib.suppress(OSError):
            if guest.said:
                guest.socket.send(wire.plain_answer(self._refused))
        guest.socket.close()

    def _forget(self, guest: _Guest) -> None:
        self._selector.unregister(guest.socket)
        self._room.leave(guest.number)
        del self._guests[guest.number]


class _Guest:
    """A connection whose first head is not complete."""

    _last = 0

    def __init__(self, connection: socket.socket, address: str):
        _Guest._last += 1
        self.number, self.socket, self.address = _Guest._last, connection, address
        self.said = b""


class Line:
    """A connection, read by heads and bodies.

    Args:
        connection: The socket; closed by :meth:`close`.
        rest: What was read of it already.
    """

    def __init__(self, connection: socket.socket, rest: bytes = b""):
        self._socket, self._rest = connection, rest
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def head(self, deadline: float) -> bytes:
        """The next head, without its end; b"" where the connection has ended.

        Args:
            deadline: Monotonic seconds.

        Raises:
            OSError: It is not there in time, or the connection broke.
            ValueError: It is longer than any of ours.
        """
        while wire.END_OF_HEAD not in self._rest:
            if len(self._rest) > wire.LONGEST_HEAD:
                raise ValueError("a head without an end")
            data = self._receive(wire.LONGEST_HEAD, deadline)
            if not data:
                return b""
            self._rest += data
        head, _, self._rest = self._rest.partition(wire.END_OF_HEAD)
        return head

    def body(self, size: int, deadline: float) -> bytes:
        """The next ``size`` bytes.

        Raises:
            OSError: They are not there in time, or the connection broke.
        """
        parts, self._rest = [self._rest[:size]], self._rest[size:]
        missing = size - len(parts[0])
        while missing:
            data = self._receive(min(missing, 1 << 20), deadline)
            if not data:
                raise ConnectionError("it ended in the middle")
            parts.append(data)
            missing -= len(data)
        return b"".join(parts)

    def send(self, data: bytes, deadline: float) -> None:
        """Sends all of it.

        Raises:
            OSError: Nobody took it in time.
        """
        self._socket.settimeout(_left(deadline))
        self._socket.sendall(data)

    def close(self) -> None:
        """Ends the connection."""
        self._socket.close()

    def _receive(self, size: int, deadline: float) -> bytes:
        self._socket.settimeout(_left(deadline))
        return self._socket.recv(size)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise socket.timeout("timed out")
    return left


def _listen(address: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except (OSError, OverflowError) as error:
        listener.close()
        taken = getattr(error, "errno", None) == errno.EADDRINUSE
        reason = "another process listens on it" if taken else str(error)
        raise PortError(
            f"port {port} of {address} cannot be used for the rendezvous: {reason}"
        ) from None
    return listener
