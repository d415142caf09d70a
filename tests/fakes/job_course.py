"""How a job of a fake service gets from state to state: by the clock, by questions, by hand."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tests.fakes.job_scenarios import JobScenario, Verdict
from tests.fakes.log_lines import Growing, Lines, lines_of
from tests.fakes.log_streams import Stream
from tests.fakes.stamps import Stamped, nonce_of


@dataclass
class Transition:
    """A state that the job had or has; times in seconds since the epoch."""

    status: str
    start: float
    message: str
    end: float | None = None


class Course:
    """A job's way through its states. Its owner holds the lock around every call.

    Attributes:
        document: The request, parsed.
        transitions: The states it had, and has.
        streams: What its hosts wrote, in the order they appeared.
        held: It runs for real now: neither clock nor questions move it on.
        stop_asked: Somebody wants it to end.
        verdict: How it ended, if it ran for real.
    """

    document: Mapping[str, Any]
    scenario: JobScenario
    transitions: list[Transition]
    streams: list[Stream]
    held: bool
    stop_asked: threading.Event
    verdict: Verdict | None = None
    # (state, message) of what is still to come; the last one is its end.
    _waiting: list[tuple[str, str]]
    _described: int = 0
    _entered: float = 0.0
    _runs: int = 0
    # Milliseconds between lines of a host for which no times are said.
    _apart: ClassVar[int] = 1000

    @property
    def state(self) -> str:
        """Where it stands."""
        return self.transitions[-1].status

    @property
    def ended(self) -> bool:
        """Whether it is in its last state."""
        return not self._waiting

    def settle(self, now: float) -> None:
        """Go on as far as the clock allows."""
        while not self.ended and not self.held:
            seconds = self.scenario.pace_of(self.state).seconds
            due = self._entered + seconds if seconds is not None else math.inf
            if now < due:
                return
            self._next(due)

    def described(self, now: float) -> None:
        """Somebody was told where it stands."""
        self._described += 1
        wanted = self.scenario.pace_of(self.state).describes
        if wanted is None or self.ended or self.held:
            return
        if self._described >= wanted:
            self._next(now)

    def step(self, now: float) -> None:
        """Go on to the next state."""
        if not self.ended:
            self._next(now)

    def line(self, host: str, text: str, now: float) -> None:
        """A line of a job that runs for real; its stream appears with its first one."""
        stream = next((one for one in self.streams if one.host == host), None)
        if stream is None:
            name = self._stream_name(host, now)
            stream = Stream(name, host, Growing(), int(now * 1000), now)
            self.streams.append(stream)
        assert isinstance(stream.lines, Growing)
        stream.lines.add(int(now * 1000) - stream.start, text)

    def begin(self, now: float) -> None:
        """Go on to where its containers run."""
        raise NotImplementedError

    def conclude(self, verdict: Verdict, now: float) -> None:
        """What ran for real has ended."""
        raise NotImplementedError

    def _open_streams(self, now: float) -> None:
        """Its hosts begin to write."""
        scenario = self.scenario
        self._runs += 1
        last = self._runs > scenario.interruptions
        for host, source in (scenario.lines if last else scenario.interrupted_lines).items():
            appears = now + scenario.late.get(host, 0.0)
            self.streams.append(
                Stream(
                    self._stream_name(host, appears),
                    host,
                    self._as_printed(lines_of(source, self._apart)),
                    int(now * 1000),
                    appears,
                    timed=scenario.timed,
                    late=scenario.lines_late,
                    hidden=scenario.hidden.get(host, 0),
                )
            )

    def _as_printed(self, lines: Lines) -> Lines:
        """The lines with the stamp that the guard in this job would have put on its own."""
        return Stamped(lines, nonce_of(self.document)) if self.scenario.stamps else lines

    def _next(self, now: float) -> None:
        """Enter the next state."""
        raise NotImplementedError

    def _stream_name(self, host: str, appears: float) -> str:
        raise NotImplementedError
