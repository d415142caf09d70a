"""Who may speak in a job: whoever has its nonce. Nobody sends the nonce; messages are signed.

A question's signature covers all that it says: method, path, who asks, that agent's start, how
many it has sent before, which start of the first host it is meant for, and the body's hash. An
answer's covers the question's signature, so that no other answer fits. Numbers and texts are signed
with their lengths: no two messages are the same bytes.

This makes messages genuine, not secret, and it says nothing of Gloo's own connections.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import NamedTuple

_FORM = re.compile(r"[0-9a-f]{32}")  # launchers/core/records/nonce.py


class Question(NamedTuple):
    """What an agent asks of the first host's.

    Attributes:
        method: Of HTTP.
        path: What it is about.
        sender: The index of the host that asks.
        start: A word that no other start of that agent has.
        number: From 1; no two questions of one start have the same.
        to: The start of the first host's agent that it is meant for; "" asks for that.
        size: Of the body, in bytes.
        digest: Of the body.
    """

    method: str
    path: str
    sender: int
    start: str
    number: int
    to: str
    size: int
    digest: str


class Answer(NamedTuple):
    """What the first host's agent answers: a status of HTTP, its own start, and the body's size
    in bytes and hash."""

    status: int
    start: str
    size: int
    digest: str


class Key:
    """Signs and checks with the job's nonce; does not show it.

    Args:
        nonce: The job's; "" or a dry run's placeholder gives a key that everybody can make.
    """

    __slots__ = ("_secret", "is_open")

    def __init__(self, nonce: str):
        self.is_open = not _FORM.fullmatch(nonce)
        secret = nonce.encode("utf-8", "replace")
        self._secret = hmac.new(secret, b"launch rendezvous", hashlib.sha256).digest()

    def of_question(self, question: Question) -> str:
        """The signature of a question."""
        return self._sign("question", *question)

    def of_answer(self, asked: str, answer: Answer) -> str:
        """The signature of an answer to the question with the signature ``asked``."""
        return self._sign("answer", asked, *answer)

    def _sign(self, *parts: object) -> str:
        text = [str(part).encode("utf-8", "surrogateescape") for part in parts]
        framed = b"".join(b"%d:%s," % (len(part), part) for part in text)
        return hmac.new(self._secret, framed, hashlib.sha256).hexdigest()

    def __repr__(self) -> str:
        return "Key(...)"


def same(one: str, other: str) -> bool:
    """Whether two signatures are equal; takes as long for those that are not."""
    return hmac.compare_digest(one.encode(), other.encode())


def digest(body: bytes) -> str:
    """Of a body."""
    return hashlib.sha256(body).hexdigest()
