"""Questions and answers as bytes: HTTP/1.1 with a few headers of ours. No sockets.

What comes from strangers is read here first, so it is strict: nothing but what we write ourselves
is taken, and whatever is longer than ``LONGEST_HEAD`` is none of ours.
"""

from __future__ import annotations

import re

from launch_runtime.host.peers.signatures import Answer, Question

LONGEST_HEAD = 2048  # bytes
END_OF_HEAD = b"\r\n\r\n"
_LINE = re.compile(rb"(GET|PUT|POST|DELETE) (/[!-~]{0,1000}) HTTP/1\.[01]")
_STATUS = re.compile(rb"HTTP/1\.1 ([1-5]\d\d) [!-~ ]{0,40}")
_WORD, _DIGEST = re.compile(r"[0-9a-f]{0,64}"), re.compile(r"[0-9a-f]{64}")
_NUMBER = re.compile(r"\d{1,15}", re.ASCII)
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found"}


def write_question(question: Question, signature: str) -> bytes:
    """Its head; the body comes after."""
    return _head(
        f"{question.method} {question.path} HTTP/1.1",
        ("Content-Length", question.size),
        ("Launch-Sender", question.sender),
        ("Launch-Start", question.start),
        ("Launch-Count", question.number),
        ("Launch-To", question.to),
        ("Launch-Digest", question.digest),
        ("Launch-Signature", signature),
    )


def read_question(head: bytes) -> tuple[Question, str]:
    """A question and its signature, which is not checked here.

    Raises:
        ValueError: It is none.
    """
    method, path, fields = read_request(head)
    question = Question(
        method,
        path,
        _number(fields, "launch-sender"),
        _text(fields, "launch-start", _WORD),
        _number(fields, "launch-count"),
        _text(fields, "launch-to", _WORD),
        _number(fields, "content-length"),
        _text(fields, "launch-digest", _DIGEST),
    )
    return question, _text(fields, "launch-signature", _DIGEST)


def read_request(head: bytes) -> tuple[str, str, dict[str, str]]:
    """Method, path and headers, by their names in small letters.

    Raises:
        ValueError: It is no request of HTTP that we would read.
    """
    line, *rest = head.split(b"\r\n")
    found = _LINE.fullmatch(line)
    if not found:
        raise ValueError("no request")
    return found[1].decode(), found[2].decode(), _fields(rest)


def body_size(fields: dict[str, str]) -> int:
    """Of a request, in bytes; 0 where it does not say.

    Raises:
        ValueError: It says something else than a number.
    """
    return _number(fields, "content-length") if "content-length" in fields else 0


def write_answer(answer: Answer, signature: str) -> bytes:
    """Its head; the body comes after."""
    return _head(
        _status_line(answer.status),
        ("Content-Length", answer.size),
        ("Launch-Start", answer.start),
        ("Launch-Digest", answer.digest),
        ("Launch-Signature", signature),
    )


def read_answer(head: bytes) -> tuple[Answer, str]:
    """An answer and its signature, which is not checked here.

    Raises:
        ValueError: It is none.
    """
    line, *rest = head.split(b"\r\n")
    found = _STATUS.fullmatch(line)
    if not found:
        raise ValueError("no answer")
    fields = _fields(rest)
    answer = Answer(
        int(found[1]),
        _text(fields, "launch-start", _WORD),
        _number(fields, "content-length"),
        _text(fields, "launch-digest", _DIGEST),
    )
    return answer, _text(fields, "launch-signature", _DIGEST)


def plain_answer(status: int, body: bytes = b"") -> bytes:
    """A whole answer without a signature, to a rank of this host or to a stranger."""
    fields = ("Content-Length", len(body)), ("Connection", "close")
    return _head(_status_line(status), *fields) + body


def _status_line(status: int) -> str:
    return f"HTTP/1.1 {status} {_REASONS.get(status, 'Refused')}"


def _head(line: str, *fields: tuple[str, object]) -> bytes:
    lines = [line, *(f"{name}: {value}" for name, value in fields)]
    return "\r\n".join(lines).encode("ascii") + END_OF_HEAD


def _fields(lines: list[bytes]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.decode("ascii").partition(":")
        if not colon or name.lower() in fields:
            raise ValueError("no header")
        fields[name.lower()] = value.strip()
    return fields


def _text(fields: dict[str, str], name: str, form: re.Pattern[str]) -> str:
    value = fields.get(name, "-")
    if not form.fullmatch(value):
        raise ValueError(f"no {name}")
    return value


def _number(fields: dict[str, str], name: str) -> int:
    return int(_text(fields, name, _NUMBER))
