"""Where this host's ranks ask for keys: on this machine alone, below a path that nobody guesses.

Horovod's client sends no header of ours, and makes its address of two variables: what stands in
HOROVOD_GLOO_RENDEZVOUS_ADDR before the first slash is the host, and what follows becomes the
beginning of the path (http_store.h, 0.28.1: ``http://ADDR:PORT/SCOPE/KEY``). So the address is
``127.0.0.1:PORT/WORD``, and what it asks is ``/WORD:PORT/SCOPE/KEY``.
"""

from __future__ import annotations

import hmac
import secrets
import time
from typing import Callable, NamedTuple

from launch_runtime.host.peers import wire
from launch_runtime.host.peers.door import LONGEST_SILENCE, Door, Line

# A rank that gets three odd answers aborts; one that gets none for a while waits. So what the
# first host does not answer is asked again, as long as Horovod's own patience with a late host.
_PATIENCE_SECONDS = 25.0
_AGAIN_SECONDS = 0.1

Ask = Callable[[str, str, bytes], "tuple[int, bytes]"]


class Meeting(NamedTuple):
    """What a rank is told: HOROVOD_GLOO_RENDEZVOUS_ADDR and HOROVOD_GLOO_RENDEZVOUS_PORT."""

    address: str
    port: int


class RanksDoor:
    """Serves in threads of its own until :meth:`close`.

    Args:
        ask: Status and body for a method, a key and a value; raises OSError or ValueError while
            the first host does not answer.
        longest_value: In bytes.

    Raises:
        PortError: This machine has no port left.
    """

    def __init__(self, ask: Ask, longest_value: int):
        self._ask, self._longest = ask, longest_value
        word = secrets.token_hex(16)
        # Not 404, which to a rank means a key that is not there yet.
        self._door = Door("127.0.0.1", 0, self._judge, self._serve, refused=403)
        self.meeting = Meeting(f"127.0.0.1:{self._door.port}/{word}", self._door.port)
        self._prefix = f"/{word}:{self._door.port}".encode()

    def close(self) -> None:
        """Frees the port; blocks for a moment."""
        self._door.close()

    def _judge(self, head: bytes, address: str) -> tuple[str, str, int] | None:
        try:
            method, path, fields = wire.read_request(head)
            size = wire.body_size(fields)
        except ValueError:
            return None
        prefix, key = path[: len(self._prefix)].encode(), path[len(self._prefix) :]
        if not hmac.compare_digest(prefix, self._prefix) or not key.startswith("/"):
            return None
        return (method, key, size) if method in ("GET", "PUT", "DELETE") else None

    def _serve(self, asked: tuple[str, str, int], line: Line) -> None:
        method, key, size = asked
        if size > self._longest:
            line.send(wire.plain_answer(413), time.monotonic() + LONGEST_SILENCE)
            return
        value = line.body(size, time.monotonic() + LONGEST_SILENCE)
        status, body = self._patiently(method, key, value)
        answer = wire.plain_answer(status, body)
        line.send(answer, time.monotonic() + LONGEST_SILENCE)

    def _patiently(self, method: str, key: str, value: bytes) -> tuple[int, bytes]:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return self._ask(method, key, value)
            except (OSError, ValueError):
                if time.monotonic() > deadline:
                    return 503, b""
                time.sleep(_AGAIN_SECONDS)
