"""A cloud in memory: jobs, a store, a log, errors on demand; and a clock that nobody waits for."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from launchers.core.cloud.errors import Cloud
from launchers.core.cloud.job import CLOCK_SECONDS, CloudJob, Observation, Request
from launchers.core.cloud.sending import name_conflict
from launchers.core.cloud.service import CloudService
from launchers.core.model.jobs import (
    FINAL_STATES,
    RUNNING,
    STOPPING,
    JobDefinition,
    JobHandle,
    Listener,
    LogLine,
)
from launchers.core.model.problems import NameTakenError, Problem
from launchers.core.planning.plan import Account, Plan
from launchers.core.proof import Expected
from launchers.core.source.bundle import SourceBundle

PASSING, THROTTLED, EXPIRED, DENIED, REFUSED = "passing", "throttled", "expired", "denied", "no"
PROOF = "launch: proof: world size 2: 2 hosts x 1 rank, Gloo"


class Clock:
    """Stands for the module ``time``; sleeping is what makes it go on."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.slept: list[float] = []

    def time(self) -> float:
        """Seconds since the epoch."""
        return self.now

    monotonic = time

    def sleep(self, seconds: float) -> None:
        """At once, and so many seconds later."""
        self.slept.append(seconds)
        self.now += seconds


class CloudError(Exception):
    """An answer that is no good, of one of the kinds above."""

    def __init__(self, kind: str):
        super().__init__(f"the cloud says {kind}")
        self.kind = kind


class MemoryCloud(Cloud):
    """What the errors mean, and what there is."""

    title = "Memory Cloud"
    rule = "memory"
    sign_in = "remember"
    errors = (CloudError,)

    def __init__(self, clock: Clock):
        self.clock = clock
        self.jobs: dict[str, StoredJob] = {}
        self.store: set[str] = set()
        self.calls: list[str] = []
        # Operation -> the kinds of error that its next calls meet; "lost": done, and no answer.
        self.faults: dict[str, deque[str]] = defaultdict(deque)
        self.renewed = 0

    def fail(self, operation: str, *kinds: str) -> None:
        """The next calls of that operation meet these."""
        self.faults[operation].extend(kinds)

    def call(self, operation: str, act: Any = lambda: None) -> Any:
        """One request, and what comes of it."""
        self.calls.append(operation)
        kind = self.faults[operation].popleft() if self.faults[operation] else ""
        if kind and kind != "lost":
            raise CloudError(kind)
        answer = act()
        if kind:
            raise CloudError(PASSING)
        return answer

    def message_of(self, error: Exception) -> str:
        return str(error)

    def is_expired(self, error: Exception) -> bool:
        return getattr(error, "kind", "") == EXPIRED

    def is_denied(self, error: Exception) -> bool:
        return getattr(error, "kind", "") == DENIED

    def is_throttled(self, error: Exception) -> bool:
        return getattr(error, "kind", "") == THROTTLED

    def is_passing(self, error: Exception) -> bool:
        return getattr(error, "kind", "") in (PASSING, THROTTLED)

    def renew(self) -> None:
        self.renewed += 1

    def how_to_renew(self) -> str:
        return "remember again"


@dataclass
class StoredJob:
    """A job of the cloud."""

    text: str
    created: float
    state: str = RUNNING
    ended_at: float | None = None
    reason: str = ""
    lines: list[LogLine] = field(default_factory=list)

    def end(self, state: str, at: float, *lines: str, reason: str = "") -> None:
        """The job ends, having printed ``lines``."""
        self.state, self.ended_at, self.reason = state, at, reason
        self.lines += [LogLine(at, "host-1", 0, text) for text in lines]


class MemoryJob(CloudJob):
    """One job by its name."""

    service = "Memory Jobs"
    success = "done"

    def __init__(self, cloud: MemoryCloud, handle: JobHandle):
        super().__init__(cloud, handle)
        self.memory, self._given = cloud, 0

    @property
    def found(self) -> StoredJob | None:
        """The job of that name."""
        return self.memory.jobs.get(self.handle.name)

    def find(self, request: Request, in_doubt: bool) -> Mapping[str, str] | None:
        found: StoredJob | None = self.memory.call("find", lambda: self.found)
        if found is None:
            return None
        if found.text != request.definition.text or found.created < request.begun - CLOCK_SECONDS:
            raise self.name_conflict()
        return {"number": self.handle.name}

    def create(self, request: Request) -> Mapping[str, str]:
        def act() -> None:
            if self.found is not None:
                raise CloudError("taken")
            now = self.memory.clock.time()
            self.memory.jobs[self.handle.name] = StoredJob(request.definition.text, now)

        self.memory.call("create", act)
        return {"number": self.handle.name}

    def is_name_taken(self, error: Exception) -> bool:
        return getattr(error, "kind", "") == "taken"

    def name_conflict(self) -> NameTakenError:
        return name_conflict(self.service, self.handle.name, "by Eve", f"m:{self.handle.name}", "r")

    def advice(self, error: Exception) -> str:
        return "ask for more"

    def exists(self) -> bool:
        return bool(self.memory.call("exists", lambda: self.found) is not None)

    def poll(self) -> Observation | None:
        found: StoredJob | None = self.memory.call("poll", lambda: self.found)
        if found is None:
            return None
        return Observation(
            found.state,
            f"it is {found.state}",
            found.state in FINAL_STATES,
            found.ended_at,
            found.reason,
            Expected(2, 2),
            {"created": found.created},
        )

    def stop(self) -> bool:
        def act() -> bool:
            if self.found is None:
                return False
            self.found.state = STOPPING
            return True

        return bool(self.memory.call("stop", act))

    def lines(self, observation: Observation) -> Iterator[LogLine]:
        self.memory.call("lines")
        assert self.found
        new = self.found.lines[self._given :]
        self._given += len(new)
        yield from new

    def newest(self) -> list[LogLine]:
        return [] if self.found is None else self.found.lines[-100:]

    def lines_with(
        self, observation: Observation, words: Sequence[str], since: float = 0.0
    ) -> Iterator[LogLine]:
        self.memory.call("search")
        assert self.found
        for line in self.found.lines:
            if line.time >= since and any(word in line.text for word in words):
                yield line

    def no_such_job(self) -> Problem:
        return Problem(self.handle.name, "no such job", "a job", rule="job-unknown")


class MemoryService(CloudService):
    """The cloud's half that is written once, over a cloud in memory."""

    name = "memory"

    def __init__(self, cloud: MemoryCloud, listener: Listener):
        super().__init__(listener)
        self.cloud = cloud

    def resolve(self, plan: Plan) -> Account:
        return plan.account

    def preflight(self, definition: JobDefinition) -> list[Problem]:
        return []

    def place_of(self, definition: JobDefinition) -> dict[str, str]:
        return {"region": "r"}

    def place_for(self, plan: Plan) -> dict[str, str]:
        return {"region": "r"}

    def job(
        self, handle: JobHandle, listener: Listener | None = None, since: float = 0.0
    ) -> MemoryJob:
        return MemoryJob(self.cloud, handle)

    def upload(self, job: CloudJob, definition: JobDefinition, bundle: SourceBundle) -> None:
        try:
            self.cloud.call("upload", lambda: self.cloud.store.add(definition.name))
        except CloudError as error:
            raise self.cloud.refused(error, "the store") from None
