"""What every fake service does with requests: keeps them, lets faults strike, answers them."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from types import TracebackType
from typing import TypeVar

from tests.fakes.clock import Clock
from tests.fakes.faults import ARRIVED, Faults
from tests.fakes.http_front import Front
from tests.fakes.wire import Answer, Request, ServiceError

_Self = TypeVar("_Self", bound="LoopbackService")


@dataclass
class Received:
    """A request as it was received.

    Attributes:
        method: Of HTTP.
        headers: All of them, credentials too.
        body: Byte for byte; of an object store, where it may be large, only its length and hash
            are kept.
        status: Of the answer, or 0 where none was made.
    """

    number: int
    service: str
    operation: str
    region: str
    access_key: str
    target: str
    method: str
    headers: Message
    body: bytes = b""
    length: int = 0
    sha256: str = ""
    status: int = 0


class LoopbackService:
    """A service that listens from :meth:`_listen` until :meth:`close`.

    A cloud says how it reads a head (:meth:`_head`), does what is asked (:meth:`_answer`) and
    writes an error (:meth:`_error`).

    Attributes:
        url: The endpoint of every service in it.
        faults: What goes wrong.
        clock: The time that all of it goes by.
        requests: Every request that came, in order.
        object_service: The service whose bodies are not kept.
        common_headers: What every answer carries.
    """

    object_service = ""
    common_headers: Mapping[str, str] = {}

    def __init__(self, clock: Clock | None = None):
        self.clock = clock or Clock()
        self.faults = Faults()
        self.requests: list[Received] = []
        self._lock = threading.Lock()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connections."""
        self._front.close()

    def received(self, operation: str) -> list[Received]:
        """The requests for one operation, in order."""
        with self._lock:
            return [one for one in self.requests if one.operation == operation]

    def forget_requests(self) -> None:
        """Count from 1 again."""
        with self._lock:
            self.requests.clear()

    def _listen(self, port: int) -> None:
        self._front = Front(self, port, self.common_headers)
        self.url = self._front.url

    # What a cloud says.

    def _head(self, number: int, method: str, target: str, headers: Message) -> Request:
        """The request without its body."""
        raise NotImplementedError

    def _body(self, request: Request) -> None:
        """The body is here; may name the operation. Raises ServiceError."""

    def _answer(self, request: Request) -> Answer:
        """Do what the request asks. Raises ServiceError."""
        raise NotImplementedError

    def _error(self, request: Request, error: ServiceError) -> Answer:
        """The error in the form of the request's protocol."""
        raise NotImplementedError

    # What the front asks; see :class:`tests.fakes.http_front.Service`.

    def arrived(self, method: str, target: str, headers: Message) -> Request:
        """Number the request and keep its head."""
        with self._lock:
            request = self._head(len(self.requests) + 1, method, target, headers)
            self.requests.append(
                Received(
                    request.number,
                    request.service,
                    request.operation,
                    request.region,
                    request.access_key,
                    target,
                    method,
                    headers,
                )
            )
            request.record = self.requests[-1]
        return request

    def read(self, request: Request) -> Answer | None:
        """Keep the body."""
        record: Received = request.record
        record.length = len(request.body)
        record.sha256 = hashlib.sha256(request.body).hexdigest()
        if request.service != self.object_service:
            record.body = request.body
        try:
            self._body(request)
        except ServiceError as error:
            return self._refused(request, error)
        record.operation = request.operation
        return None

    def strike(self, request: Request, point: str) -> Answer | None:
        """Let the faults strike."""
        # AWS's Query requests are not named yet; what names one strikes when it is read.
        if point == ARRIVED and not request.operation:
            return None
        try:
            self.faults.act(request, point)
        except ServiceError as error:
            return self._refused(request, error)
        return None

    def handle(self, request: Request) -> Answer:
        """Do what the request asks."""
        try:
            answer = self._answer(request)
        except ServiceError as error:
            return self._refused(request, error)
        request.record.status = answer.status
        return answer

    def _refused(self, request: Request, error: ServiceError) -> Answer:
        request.record.status = error.status
        return self._error(request, error)
