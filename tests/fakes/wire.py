"""What every fake service works on: a request, an answer, an error.

A service works on :class:`Request` and gives an :class:`Answer`, a dict, or raises
:class:`ServiceError`; how a cloud's protocols write them stands in that cloud's own file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import Any


class ServiceError(Exception):
    """What the service refuses, in its own words.

    Attributes:
        code: ``ValidationException``, ``NoSuchKey``; ``PERMISSION_DENIED``.
        status: Of HTTP.
        headers: What the answer carries besides.
        details: More of the error, where its protocol has a place for that.
    """

    def __init__(
        self,
        code: str,
        message: str,
        status: int = 400,
        headers: Mapping[str, str] | None = None,
        details: Sequence[Mapping[str, Any]] = (),
    ):
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.status = code, message, status
        self.headers, self.details = dict(headers or {}), list(details)


@dataclass
class Request:
    """One request as it came.

    Attributes:
        number: 1 for the first that the service got.
        target: Path and query as they stood in the request line.
        service: ``sagemaker``, ``logs``, ``s3``; ``aiplatform``, ``logging``, ``storage``, ...
        operation: ``CreateTrainingJob``, ``PutObject``; ``customJobs.create``. Empty for AWS's
            Query protocol until the body is read.
        query: The query's names and values.
        region: Of an AWS signature's scope, or the location in a Google path.
        access_key: Of an AWS signature; an empty string for an unsigned request.
        places: What the path's parts say, by name.
        body: What was sent; ``b""`` until it is read.
        parameters: Of a Query request, once its body is read.
        identity: Who sent it, once that is known.
        record: What the service keeps of it.
    """

    number: int
    method: str
    target: str
    headers: Message
    service: str
    operation: str
    query: Mapping[str, str]
    region: str = ""
    access_key: str = ""
    places: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    parameters: Mapping[str, Any] | None = None
    identity: Any = None
    record: Any = None

    @property
    def path(self) -> str:
        """The path as it was sent, without the query."""
        return self.target.partition("?")[0]

    def header(self, name: str) -> str:
        """A header's value, or an empty string."""
        return str(self.headers.get(name) or "")


@dataclass
class Answer:
    """What goes back: bytes, or a part of a file.

    Attributes:
        file: Where the body lies, if it is no ``body``.
        span: First byte and length within ``file``.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    file: Path | None = None
    span: tuple[int, int] = (0, 0)

    @property
    def length(self) -> int:
        """Bytes of the body."""
        return self.span[1] if self.file else len(self.body)

    def chunks(self, size: int = 1 << 16) -> Iterator[bytes]:
        """The body, piece by piece."""
        if self.file is None:
            yield self.body
            return
        first, left = self.span
        with self.file.open("rb") as stream:
            stream.seek(first)
            while left > 0 and (data := stream.read(min(size, left))):
                left -= len(data)
                yield data
