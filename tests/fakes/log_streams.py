"""What a host of a job writes: which of its lines can be read by now."""

from __future__ import annotations

from dataclasses import dataclass

from tests.fakes.log_lines import Lines, first_from


@dataclass
class Stream:
    """What a host writes in one run.

    Attributes:
        name: CloudWatch's ``<job>/algo-1-<epoch ms>``; ``workerpool0-0/<run>`` of Vertex AI.
        lines: The host's lines.
        start: What the lines' milliseconds are counted from, in ms since the epoch.
        appears: When the stream is there, in seconds since the epoch.
        timed: Whether lines appear at their time, or all with the stream.
        late: Seconds by which lines come late.
        hidden: Log requests that do not see the stream yet.
        ended: When its host ended: no line comes after that.
        cut: Whether it was stopped: what it had not written by then (``timed``) never comes.
    """

    name: str
    host: str
    lines: Lines
    start: int
    appears: float
    timed: bool = False
    late: float = 0.0
    hidden: int = 0
    ended: float | None = None
    cut: bool = False

    def close(self, now: float, cut: bool) -> None:
        """Its host ended now, or was stopped."""
        if self.ended is None:
            self.ended, self.cut = now, cut

    def is_there(self, now: float, requests: int) -> bool:
        """Whether it is seen now, by somebody who asks for the ``requests``-th time."""
        return now >= self.appears and requests > self.hidden

    def readable(self, now: float) -> int:
        """How many of its lines can be read at ``now``."""
        if not self.timed:
            return len(self.lines) if now >= self.appears + self.late else 0
        until = now - self.late
        if self.ended is not None and until >= self.ended:
            if not self.cut:
                return len(self.lines)
            until = self.ended
        return first_from(self.lines, int(until * 1000) - self.start + 1, len(self.lines))

    def time_of(self, index: int) -> int:
        """A line's time in ms since the epoch."""
        return self.start + self.lines.at(index)[0]

    def first_from(self, time: int, end: int) -> int:
        """The first line before ``end`` that is at ``time`` (ms since the epoch) or later."""
        return first_from(self.lines, time - self.start, end)
