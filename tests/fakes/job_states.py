"""A training job of the fake service: where it stands, and how it gets on."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.cloudwatch_streams import Stream
from tests.fakes.job_scenarios import ENDS, Scenario
from tests.fakes.log_lines import Growing, lines_of


@dataclass
class Transition:
    """A secondary status that the job had or has; times in seconds since the epoch."""

    status: str
    start: float
    message: str
    end: float | None = None


@dataclass
class TrainingJob:
    """A job that the service accepted. Its owner holds the lock around every call.

    Attributes:
        document: The request, parsed.
        body: The request, byte for byte.
        creator: The ARN of who sent it.
        streams: Its log streams, in the order they were made.
        log_requests: How often somebody asked for its logs.
        held: It runs for real now: neither clock nor questions move it on.
    """

    document: Mapping[str, Any]
    body: bytes
    arn: str
    region: str
    creator: str
    created: float
    scenario: Scenario
    tags: dict[str, str] = field(default_factory=dict)
    transitions: list[Transition] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    log_requests: int = 0
    held: bool = False
    stop_asked: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.reason = ""
        self._waiting = self.scenario.states()
        self._described = 0
        self._runs = 0
        self._next(self.created)

    @property
    def name(self) -> str:
        """TrainingJobName."""
        return str(self.document["TrainingJobName"])

    @property
    def secondary(self) -> str:
        """SecondaryStatus."""
        return self.transitions[-1].status

    @property
    def status(self) -> str:
        """TrainingJobStatus."""
        if self.secondary in ENDS:
            return ENDS[self.secondary]
        stopping = any(one.status == "Stopping" for one in self.transitions)
        return "Stopping" if stopping else "InProgress"

    @property
    def ended(self) -> bool:
        """Whether it is in its last state."""
        return not self._waiting

    @property
    def hosts(self) -> list[str]:
        """``algo-1``, ``algo-2``, ..."""
        resources = self.document.get("ResourceConfig", {})
        groups = resources.get("InstanceGroups") or [resources]
        count = sum(int(group.get("InstanceCount", 1)) for group in groups)
        return [f"algo-{number}" for number in range(1, count + 1)]

    def settle(self, now: float) -> None:
        """Go on as far as the clock allows."""
        while not self.ended and not self.held:
            seconds = self.scenario.pace_of(self.secondary).seconds
            due = self._entered + seconds if seconds is not None else math.inf
            if now < due:
                return
            self._next(due)

    def described(self, now: float) -> None:
        """Somebody was told where it stands."""
        self._described += 1
        wanted = self.scenario.pace_of(self.secondary).describes
        if wanted is None or self.ended or self.held:
            return
        if self._described >= wanted:
            self._next(now)

    def step(self, now: float) -> None:
        """Go on to the next state."""
        if not self.ended:
            self._next(now)

    def finish(self, outcome: str, reason: str, now: float) -> None:
        """Training is over: what follows is the way to ``outcome``."""
        self.reason = reason
        states = self.scenario.last_states(outcome)
        # A job that was told to stop has been stopping already.
        if self.status == "Stopping":
            states = [state for state in states if state[0] != "Stopping"]
        self._waiting = states
        self._next(now)

    def stop(self, now: float) -> None:
        """StopTrainingJob: stopping, then stopped."""
        self.stop_asked.set()
        self._waiting = self.scenario.last_states("Stopped")
        if not any(one.status == "Training" for one in self.transitions):
            self._waiting = [state for state in self._waiting if state[0] != "Uploading"]
        self._next(now)

    def line(self, host: str, text: str, now: float) -> None:
        """A line of a job that runs for real; its stream appears with its first one."""
        stream = next((one for one in self.streams if one.host == host), None)
        if stream is None:
            lines = Growing()
            stream = Stream(self._stream_name(host, now), host, lines, int(now * 1000), now)
            self.streams.append(stream)
        assert isinstance(stream.lines, Growing)
        stream.lines.add(int(now * 1000) - stream.start, text)

    def seconds(self) -> tuple[int, int] | None:
        """TrainingTimeInSeconds and BillableTimeInSeconds of a job that has ended."""
        start, end = self.training_start, self.training_end
        if start is None or end is None:
            return None
        training = max(1, math.ceil(end - start))
        billable = self.scenario.billable
        return training, training if billable is None else billable

    @property
    def training_start(self) -> float | None:
        """When its instances began to cost; None before."""
        return next((one.start for one in self.transitions if one.status == "Downloading"), None)

    @property
    def training_end(self) -> float | None:
        """When it ended; None before."""
        return self.transitions[-1].start if self.ended else None

    def _next(self, now: float) -> None:
        """Enter the next state."""
        secondary, message = self._waiting.pop(0)
        # The service tells milliseconds.
        now = round(now, 3)
        self._entered, self._described = now, 0
        last = self.transitions[-1] if self.transitions else None
        if last is not None and last.status == secondary:
            last.message = message
            return
        if last is not None:
            last.end = now
            if last.status == "Training":
                for stream in self.streams:
                    stream.close(now, cut=secondary in ("Stopping", "Interrupted"))
        self.transitions.append(Transition(secondary, now, message))
        if secondary == "Training":
            self._open_streams(now)
        if self.ended:
            self.transitions[-1].end = now
            self.reason = self.reason or (
                self.scenario.reason if secondary == self.scenario.outcome else ""
            )

    def _open_streams(self, now: float) -> None:
        scenario = self.scenario
        self._runs += 1
        last = self._runs > scenario.interruptions
        for host, source in (scenario.lines if last else scenario.interrupted_lines).items():
            appears = now + scenario.late.get(host, 0.0)
            self.streams.append(
                Stream(
                    self._stream_name(host, appears),
                    host,
                    lines_of(source),
                    int(now * 1000),
                    appears,
                    timed=scenario.timed,
                    late=scenario.lines_late,
                    hidden=scenario.hidden.get(host, 0),
                )
            )

    def _stream_name(self, host: str, appears: float) -> str:
        taken = {stream.name for stream in self.streams}
        number = int(appears * 1000)
        while f"{self.name}/{host}-{number}" in taken:
            number += 1
        return f"{self.name}/{host}-{number}"
