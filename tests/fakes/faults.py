"""What can go wrong between a client and a service, on demand.

A fault is an effect (:class:`Refuse`, :class:`Drop`, :class:`Delay`, :class:`Call`), the requests
that it hits, and the point of a request at which it strikes::

    faults.add(Refuse(THROTTLED), "FilterLogEvents", every=3)
    faults.add(Drop(RESET), "CreateTrainingJob", point=HANDLED, times=1)
    faults.add(Call(lambda request: os.kill(pid, SIGKILL)), number=17)
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.fakes.wire import Request, ServiceError

# Points of a request. A Query request has its operation's name in its body, so a fault that
# names such an operation strikes at READ, where a nameless one would strike at ARRIVED.
ARRIVED = "arrived"  # the head is here, the body is not read
READ = "read"  # all of it is here, nothing was done yet
HANDLED = "handled"  # it was done, nothing was answered yet
ANSWERED = "answered"  # the whole answer was sent
POINTS = (ARRIVED, READ, HANDLED, ANSWERED)

# Ways of losing a connection.
RESET = "reset"  # RST: "connection reset by peer"
CLOSED = "closed"  # FIN without an answer: "remote end closed connection"
HALF_HEAD = "half head"  # the answer ends in its first line
# The answer ends in its body. botocore 1.44 takes that for a whole answer without members: it
# does not hold urllib3 to Content-Length (httpsession.py: enforce_content_length=False).
HALF_BODY = "half body"
HALF_BODY_RESET = "half body, reset"  # the same with RST
WAYS = (RESET, CLOSED, HALF_HEAD, HALF_BODY, HALF_BODY_RESET)
_HALVES = (HALF_HEAD, HALF_BODY, HALF_BODY_RESET)

# AWS's; Google's are in google_wire.py.
THROTTLED = ServiceError("ThrottlingException", "Rate exceeded", 400)
SLOW_DOWN = ServiceError("SlowDown", "Please reduce your request rate.", 503)
INTERNAL = ServiceError("InternalFailure", "An internal error has occurred.", 500)
UNAVAILABLE = ServiceError("ServiceUnavailable", "The service is not available.", 503)


class ConnectionLostError(Exception):
    """The connection ends now, without (the rest of) an answer; ``way`` is one of WAYS."""

    def __init__(self, way: str):
        super().__init__(way)
        self.way = way


@dataclass(frozen=True)
class Refuse:
    """Answer with an error."""

    error: ServiceError


@dataclass(frozen=True)
class Drop:
    """Lose the connection. A half answer needs an answer, so it strikes at HANDLED."""

    way: str = RESET


@dataclass(frozen=True)
class Delay:
    """Do nothing for so many seconds, then go on."""

    seconds: float


@dataclass(frozen=True)
class Call:
    """Call a function of the test, then go on.

    A request that was sent whole is done also if the hook killed its sender, as by the service;
    a hook that does not want that raises :class:`ConnectionLostError`.
    """

    hook: Callable[[Request], object]


Effect = Refuse | Drop | Delay | Call


@dataclass
class Fault:
    """An effect with the requests that it hits.

    Attributes:
        operations: Names of operations or of services; empty for every request.
        number: The one request with that number.
        after: So many matching requests pass first.
        every: Of those that match then, every n-th is hit, beginning with the first.
        times: It is over after so many hits.
        chance: Of being hit, drawn from ``seed``.
        hits: How often it struck.
    """

    effect: Effect
    operations: tuple[str, ...] = ()
    point: str = READ
    number: int | None = None
    after: int = 0
    every: int = 1
    times: int | None = None
    chance: float = 1.0
    seed: int = 0
    hits: int = 0
    _seen: int = 0
    _random: random.Random = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.point not in POINTS:
            raise ValueError(f"{self.point!r}: expected one of {POINTS}")
        if isinstance(self.effect, Drop) and self.effect.way in _HALVES:
            self.point = HANDLED
        self._random = random.Random(self.seed)

    def strikes(self, request: Request, point: str) -> bool:
        """Whether it hits this request, here; counts it."""
        names = (request.operation, request.service)
        if self.point != point or (self.operations and not set(self.operations) & set(names)):
            return False
        if self.number is not None and request.number != self.number:
            return False
        if self.times is not None and self.hits >= self.times:
            return False
        position = self._seen - self.after
        self._seen += 1
        if position < 0 or position % self.every or self._random.random() >= self.chance:
            return False
        self.hits += 1
        return True


class Faults:
    """The faults of a service. Safe to change while it runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []

    def add(
        self,
        effect: Effect,
        *operations: str,
        point: str = READ,
        number: int | None = None,
        after: int = 0,
        every: int = 1,
        times: int | None = None,
        chance: float = 1.0,
        seed: int = 0,
    ) -> Fault:
        """A fault from now on (see :class:`Fault`)."""
        fault = Fault(effect, operations, point, number, after, every, times, chance, seed)
        with self._lock:
            self._faults.append(fault)
        return fault

    def limit(
        self,
        per_second: float,
        *operations: str,
        burst: int = 1,
        error: ServiceError = THROTTLED,
    ) -> RateLimit:
        """Throttle what comes faster than ``per_second``, as a cloud's quotas do."""
        limit = RateLimit(per_second, burst, operations, error)
        with self._lock:
            self._faults.append(limit)
        return limit

    def remove(self, fault: Fault) -> None:
        """An end to one fault."""
        with self._lock:
            self._faults.remove(fault)

    def clear(self) -> None:
        """An end to all faults."""
        with self._lock:
            self._faults.clear()

    def act(self, request: Request, point: str) -> None:
        """Let the faults strike that hit this request at this point. Blocks for a delay.

        Raises:
            ServiceError: To be answered.
            ConnectionLostError: Nothing (more) is to be answered.
        """
        with self._lock:
            effects = [one.effect for one in self._faults if one.strikes(request, point)]
        for effect in effects:
            if isinstance(effect, Refuse):
                raise effect.error
            if isinstance(effect, Drop):
                raise ConnectionLostError(effect.way)
            if isinstance(effect, Delay):
                time.sleep(effect.seconds)
            else:
                effect.hook(request)


class RateLimit(Fault):
    """A bucket of tokens: ``burst`` at once, then ``per_second``."""

    def __init__(
        self, per_second: float, burst: int, operations: tuple[str, ...], error: ServiceError
    ):
        super().__init__(Refuse(error), operations)
        self._per_second, self._burst = per_second, burst
        self._tokens, self._filled = float(burst), time.monotonic()

    def strikes(self, request: Request, point: str) -> bool:
        """Whether there is no token left for this request."""
        names = (request.operation, request.service)
        if point != self.point or (self.operations and not set(self.operations) & set(names)):
            return False
        now = time.monotonic()
        self._tokens += (now - self._filled) * self._per_second
        self._tokens, self._filled = min(self._tokens, float(self._burst)), now
        if self._tokens >= 1:
            self._tokens -= 1
            return False
        self.hits += 1
        return True
