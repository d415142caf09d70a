"""The first host's side: agents' reports, and the keys that other hosts' ranks put and ask for.

Every question is signed with the job's nonce, comes once, and is meant for this start of this
agent; whoever cannot sign gets a bare 404. An agent that does not know this start, because this
one was started again, is told, and nothing else happens.
"""

from __future__ import annotations

import json
import threading
import time
from typing import Any, Callable, NamedTuple

from launch_runtime.host.peers import signatures, wire
from launch_runtime.host.peers.counters import Counters
from launch_runtime.host.peers.door import LONGEST_SILENCE, NO_THREADS, Door, Line
from launch_runtime.host.peers.keys import ABSENT, OK, Keys
from launch_runtime.host.peers.signatures import Answer, Key, Question

REPORT_PATH = "/launch/report"
START_PATH = "/launch/start"
KEYS_PATH = "/launch/keys"
LONGEST_REPORT = 96 << 20  # a host's evidence (local_ranks.HOST_EVIDENCE_BYTES), and the rest
ANOTHER_START = 401
# How long a key that is absent is waited for before 404 is the answer: a rank asks again anyway.
HOLD_SECONDS = 0.2
_IDLE_SECONDS = 120.0  # a connection on which nobody asks any more
_UNANSWERED = "other hosts get no answer; this warning appears once"
_TOLD = "it gets no answer; this warning appears once"


class SharedKeys:
    """The job's keys for several threads; those of the first host's own ranks come straight here.

    Args:
        keys: Where they are.
    """

    def __init__(self, keys: Keys):
        self._keys, self._changed = keys, threading.Condition()
        self.longest_value = keys.longest_value

    def ask(self, method: str, key: str, value: bytes, host: int) -> tuple[int, bytes]:
        """Status and body for what a rank of ``host`` asks; blocks for HOLD_SECONDS at most."""
        with self._changed:
            if method == "PUT":
                status = self._keys.put(key, value, host)
                self._changed.notify_all()
                return status, b""
            if method == "DELETE":
                return self._keys.delete(key), b""
            self._changed.wait_for(lambda: self._keys.get(key) is not None, HOLD_SECONDS)
            found = self._keys.get(key)
            return (ABSENT, b"") if found is None else (OK, found)


class _Admitted(NamedTuple):
    question: Question
    signature: str


class Rendezvous:
    """Serves in threads of its own until :meth:`close`.

    Args:
        address: The IPv4 address to listen on; 0.0.0.0 for all.
        port: The TCP port; 0 takes a free one.
        key: The job's.
        start: A word that no other start of this agent has.
        hosts: How many the job has.
        answer: Gives the answer to an agent's report; raises ValueError, KeyError or TypeError
            for what is none.
        keys: The job's.
        say: Prints a line for people.

    Raises:
        PortError: Somebody else has the port, or this user may not take it.
    """

    def __init__(
        self,
        address: str,
        port: int,
        key: Key,
        start: str,
        hosts: int,
        answer: Callable[[Any], Any],
        keys: SharedKeys,
        say: Callable[[str], None],
    ):
        self._key, self._start, self._hosts = key, start, hosts
        self._answer, self._keys, self._say = answer, keys, say
        self._counters, self._lock = Counters(), threading.Lock()
        self._told = False
        self._crowded = False
        self._door = Door(address, port, self._judge, self._serve, crowded=self._tell_crowded)
        self.port = self._door.port

    def close(self) -> None:
        """Frees the port; blocks for a moment."""
        self._door.close()

    def _judge(self, head: bytes, address: str) -> _Admitted | None:
        """The question, where it is one of this job's and was not asked before."""
        try:
            question, signature = wire.read_question(head)
            genuine = signatures.same(self._key.of_question(question), signature)
        except ValueError:
            genuine = False
        # What is meant for another start is answered and not acted upon: it may be a replay.
        known = genuine and 0 <= question.sender < self._hosts
        if known and (question.to != self._start or self._is_new(question)):
            return _Admitted(question, signature)
        self._tell(address)
        return None

    def _is_new(self, question: Question) -> bool:
        with self._lock:
            return self._counters.take(question.sender, question.start, question.number)

    def _tell(self, address: str) -> None:
        with self._lock:
            told, self._told = self._told, True
        if not told:
            self._say(
                f"warning: {address} speaks to this job's rendezvous without the job's key: {_TOLD}"
            )

    def _tell_crowded(self) -> None:
        if not self._crowded:
            self._crowded = True
            self._say(f"warning: {NO_THREADS}: {_UNANSWERED}")

    def _serve(self, admitted: _Admitted | None, line: Line) -> None:
        while admitted is not None:
            question, signature = admitted
            status, body = self._act(question, line)
            answer = Answer(status, self._start, len(body), signatures.digest(body))
            head = wire.write_answer(answer, self._key.of_answer(signature, answer))
            line.send(head + body, time.monotonic() + LONGEST_SILENCE + len(body) / 1e6)
            if status == ANOTHER_START:
                return
            head = line.head(time.monotonic() + _IDLE_SECONDS)
            admitted = self._judge(head, "a host of this job") if head else None

    def _act(self, question: Question, line: Line) -> tuple[int, bytes]:
        if question.to != self._start:
            return ANOTHER_START, b""
        reports = (question.method, question.path) == ("POST", REPORT_PATH)
        if question.size > (LONGEST_REPORT if reports else self._keys.longest_value):
            raise ValueError(f"a body of {question.size} bytes")
        deadline = time.monotonic() + LONGEST_SILENCE + question.size / 1e6
        body = line.body(question.size, deadline)
        if not signatures.same(signatures.digest(body), question.digest):
            raise ValueError("another body")
        if reports:
            return self._take_report(body)
        if question.path.startswith(KEYS_PATH + "/"):
            key = question.path[len(KEYS_PATH) :]
            return self._keys.ask(question.method, key, body, question.sender)
        return ABSENT, b""

    def _take_report(self, body: bytes) -> tuple[int, bytes]:
        try:
            return OK, json.dumps(self._answer(json.loads(body))).encode()
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            return 400, repr(error).encode()
