"""How all hosts but the first one speak with it: signed questions, and answers that are checked.

Whoever answers without the job's key in the first host's place is not believed: it counts as no
answer at all.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from typing import Any, Callable, Sequence

from launch_runtime.host import network
from launch_runtime.host.peers import signatures, wire
from launch_runtime.host.peers.door import Line
from launch_runtime.host.peers.rendezvous import (
    ANOTHER_START,
    KEYS_PATH,
    REPORT_PATH,
    START_PATH,
)
from launch_runtime.host.peers.signatures import Answer, Key, Question

_REQUEST_SECONDS = 3.0
_BYTES_A_SECOND = 2e6  # of a slow network, for large reports
_LONGEST_ANSWER = 64 << 20
_KEPT = 64  # connections that are kept for the next question


class ImpostorError(OSError):
    """Somebody answered who is not of this job."""


class FirstHost:
    """Asks the first host's agent. Safe to use from several threads.

    Args:
        address: Name or address.
        ports: Of its rendezvous; the next one is tried where nobody of the job answers.
        key: The job's.
        sender: This host's index.
        start: A word that no other start of this agent has.
        say: Prints a line for people.
    """

    def __init__(
        self,
        address: str,
        ports: Sequence[int],
        key: Key,
        sender: int,
        start: str,
        say: Callable[[str], None],
    ):
        self._address, self._ports, self._key = address, list(ports), key
        self._sender, self._start, self._say = sender, start, say
        self._lock = threading.Lock()
        self._count = 0
        self._to = ""  # the start of the first host's agent, once that is known
        self._resolved = ""  # a name server that fails for a while is no lost host
        self._kept: list[Line] = []
        self._told = False

    def report(self, report: dict[str, Any]) -> dict[str, Any]:
        """The job's state, for a report; blocks for seconds at most.

        Raises:
            OSError, ValueError: No answer.
        """
        status, body = self.ask("POST", REPORT_PATH, json.dumps(report).encode())
        if status != 200:
            raise ValueError(body.decode("utf-8", "replace")[:300] or str(status))
        state: dict[str, Any] = json.loads(body)
        return state

    def ask_for_key(self, method: str, key: str, value: bytes) -> tuple[int, bytes]:
        """Status and body for what a rank of this host asks; blocks for seconds at most.

        Raises:
            OSError, ValueError: No answer.
        """
        return self.ask(method, KEYS_PATH + key, value)

    def ask(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        """Status and body of a genuine answer.

        Raises:
            OSError, ValueError: No answer, or not one of the first host's.
        """
        try:
            if not self._to:
                self._exchange("GET", START_PATH, b"")
            answer, found = self._exchange(method, path, body)
        except ImpostorError:
            self._forget()
            self._tell()
            raise
        except (OSError, ValueError):
            self._forget()
            raise
        if answer.status == ANOTHER_START:
            raise ConnectionError("the first host's agent was started again")
        return answer.status, found

    def _exchange(self, method: str, path: str, body: bytes) -> tuple[Answer, bytes]:
        deadline = time.monotonic() + _REQUEST_SECONDS + len(body) / _BYTES_A_SECOND
        line, is_used = self._connection(deadline)
        try:
            answer, found = self._over(line, method, path, body, deadline)
        except ConnectionError:
            line.close()
            if not is_used:
                raise
            # It was closed while nobody used it; what it carried was never heard.
            line = self._connect(deadline)
            try:
                answer, found = self._over(line, method, path, body, deadline)
            except (OSError, ValueError):
                line.close()
                raise
        except (OSError, ValueError):
            line.close()
            raise
        self._to = answer.start
        self._keep(line, answer.status != ANOTHER_START)
        return answer, found

    def _over(
        self, line: Line, method: str, path: str, body: bytes, deadline: float
    ) -> tuple[Answer, bytes]:
        question = Question(
            method, path, self._sender, self._start, self._next(), self._to,
            len(body), signatures.digest(body),
        )  # fmt: skip
        asked = self._key.of_question(question)
        line.send(wire.write_question(question, asked) + body, deadline)
        head = line.head(deadline)
        if not head:
            raise ConnectionError("the connection ended without an answer")
        try:
            answer, signature = wire.read_answer(head)
        except ValueError:
            answer, signature = Answer(0, "", 0, ""), ""
        if not signatures.same(self._key.of_answer(asked, answer), signature):
            raise ImpostorError("whoever answers does not have this job's key")
        if answer.size > _LONGEST_ANSWER:
            raise ValueError(f"an answer of {answer.size} bytes")
        found = line.body(answer.size, deadline)
        if not signatures.same(signatures.digest(found), answer.digest):
            raise ImpostorError("the answer was changed on its way")
        return answer, found

    def _next(self) -> int:
        with self._lock:
            self._count += 1
            return self._count

    def _connection(self, deadline: float) -> tuple[Line, bool]:
        """A connection, and whether it was used before."""
        with self._lock:
            if self._kept:
                return self._kept.pop(), True
        return self._connect(deadline), False

    def _connect(self, deadline: float) -> Line:
        self._resolved = self._resolved or network.resolve(self._address)
        left = max(deadline - time.monotonic(), 0.01)
        return Line(socket.create_connection((self._resolved, self._ports[0]), timeout=left))

    def _keep(self, line: Line, is_good: bool) -> None:
        with self._lock:
            if is_good and len(self._kept) < _KEPT:
                self._kept.append(line)
                return
        line.close()

    def _forget(self) -> None:
        """Whatever was known of the first host may be wrong."""
        with self._lock:
            kept, self._kept = self._kept, []
            self._resolved = self._to = ""
            self._ports.append(self._ports.pop(0))
        for line in kept:
            line.close()

    def _tell(self) -> None:
        with self._lock:
            told, self._told = self._told, True
        if not told:
            self._say(
                f"warning: whoever answers at {self._address}:{self._ports[-1]} does not have this "
                "job's key, and is ignored; this warning appears once"
            )
