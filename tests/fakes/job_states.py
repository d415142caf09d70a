"""A training job of the fake service: where it stands, and how it gets on."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.job_course import Course, Transition
from tests.fakes.job_scenarios import ENDS, Scenario, Verdict
from tests.fakes.log_streams import Stream


@dataclass
class TrainingJob(Course):
    """A job that the service accepted; see :class:`Course` for what every job has.

    Attributes:
        body: The request, byte for byte.
        creator: The ARN of who sent it.
        log_requests: How often somebody asked for its logs.
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
        self._next(self.created)

    @property
    def name(self) -> str:
        """TrainingJobName."""
        return str(self.document["TrainingJobName"])

    @property
    def secondary(self) -> str:
        """SecondaryStatus."""
        return self.state

    @property
    def status(self) -> str:
        """TrainingJobStatus."""
        if self.secondary in ENDS:
            return ENDS[self.secondary]
        stopping = any(one.status == "Stopping" for one in self.transitions)
        return "Stopping" if stopping else "InProgress"

    @property
    def hosts(self) -> list[str]:
        """``algo-1``, ``algo-2``, ..."""
        resources = self.document.get("ResourceConfig", {})
        groups = resources.get("InstanceGroups") or [resources]
        count = sum(int(group.get("InstanceCount", 1)) for group in groups)
        return [f"algo-{number}" for number in range(1, count + 1)]

    def begin(self, now: float) -> None:
        """See :class:`Course`."""
        while self.secondary != "Training" and not self.ended:
            self.step(now)

    def conclude(self, verdict: Verdict, now: float) -> None:
        """See :class:`Course`."""
        self.verdict = verdict
        stopped = self.stop_asked.is_set()
        self.finish(
            "Stopped" if stopped else verdict.outcome, "" if stopped else verdict.reason, now
        )

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

    def _stream_name(self, host: str, appears: float) -> str:
        taken = {stream.name for stream in self.streams}
        number = int(appears * 1000)
        while f"{self.name}/{host}-{number}" in taken:
            number += 1
        return f"{self.name}/{host}-{number}"
