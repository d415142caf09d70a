"""One run of a cluster, from its first line to the end that its provider's rules see in it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from launchers.core.model.containers import Conduct, Container
from launchers.core.model.jobs import TIMED_OUT, LogLine
from launchers.core.output.lines import JobWatch, proof_of
from launchers.core.output.mpirun import untangled
from launchers.core.output.training_progress.state import Progress
from launchers.rehearsal.course.causes import Causes
from launchers.rehearsal.course.ending import Ending, EndRules
from launchers.rehearsal.engine.cluster import Cluster
from launchers.rehearsal.engine.output import EngineLost, Exit, Line

ENDED, INTERRUPTED, ENGINE_LOST = "ended", "interrupted", "engine lost"

_POLL_SECONDS = 0.25
# What the other containers still have to say after one of them has decided the end.
_LAST_WORDS_SECONDS = 1.0
_SIGTERM_BIT = 1 << 14  # of SigCgt in /proc/PID/status (proc(5)): signal 15


@dataclass
class Seen:
    """What an attempt showed.

    Attributes:
        proofs: Container -> the last proof of the job that came out of it.
        first_progress: The first that a rank printed, or None.
        pauses: Known wait -> its seconds.
        exits: Container -> its end.
    """

    watch: JobWatch
    causes: Causes
    proofs: dict[str, str] = field(default_factory=dict)
    first_progress: Progress | None = None
    pauses: dict[str, float] = field(default_factory=dict)
    exits: dict[str, Exit] = field(default_factory=dict)


@dataclass(frozen=True)
class AttemptEnd:
    """How an attempt ended.

    Attributes:
        kind: ENDED, INTERRUPTED, ENGINE_LOST or TIMED_OUT.
        ending: The containers' own, where there was one.
        heard: What was seen to react to the SIGTERM of an interruption; empty for nothing.
        error: The engine's last word where it was lost.
    """

    kind: str
    ending: Ending | None = None
    heard: str = ""
    error: str = ""


class Attempt:
    """Listens to a started cluster until the end.

    Args:
        on_line: Gets every line of the job as it comes.
        stop_at: Time (``time.monotonic``) at which the job is stopped, or None.
        interrupt_after: Seconds after the proof line at which it is interrupted, or None.
        watch: A new one for the job's lines, which knows the stamp of its own.
    """

    def __init__(
        self,
        cluster: Cluster,
        containers: Sequence[Container],
        conduct: Conduct,
        on_line: Callable[[LogLine, JobWatch], None],
        stop_at: float | None = None,
        interrupt_after: float | None = None,
        watch: JobWatch | None = None,
    ):
        self._cluster = cluster
        self._names = [item.name for item in containers]
        leader = next((item.name for item in containers if item.leader), self._names[0])
        self._rules = EndRules(
            leader, conduct.follow_within, conduct.leader_decides, conduct.restarts
        )
        placed = () if conduct.places_ranks else containers
        self._host_of = {rank: item.name for item in placed for rank in item.ranks}
        self._conduct = conduct
        self._on_line = on_line
        self._stop_at = stop_at
        self._interrupt_after = interrupt_after
        self._interrupt_at: float | None = None
        self._pauses = [
            (pause.what, re.compile(pause.begin), re.compile(pause.end)) for pause in conduct.pauses
        ]
        self._pause_began: dict[str, float] = {}
        watch = watch or JobWatch()
        watch.without_gpus = watch.without_gpus or not any(item.gpus for item in containers)
        self.seen = Seen(watch, Causes(conduct.causes))

    def run(self) -> AttemptEnd:
        """Listen until the end. Blocks; every rule about when it ends is here or in those rules."""
        while True:
            lost, ending = self._next(_POLL_SECONDS)
            now = time.monotonic()
            if lost is not None:
                return AttemptEnd(ENGINE_LOST, error=lost)
            ending = ending or self._rules.overdue(now)
            if ending is not None:
                self._last_words(ending)
                return AttemptEnd(ENDED, ending)
            if self._stop_at is not None and now >= self._stop_at:
                self._ask_to_end(wait=self._hears())
                return AttemptEnd(TIMED_OUT)
            if self._interrupt_at is not None and now >= self._interrupt_at:
                return self._interrupt()

    def _next(self, timeout: float) -> tuple[str | None, Ending | None]:
        """Take what happens next: the engine's last word, the job's end, or neither."""
        event = self._cluster.next_event(timeout)
        if isinstance(event, Line):
            self._printed(event)
        elif isinstance(event, EngineLost):
            return event.error or "no answer", None
        elif isinstance(event, Exit):
            self.seen.exits[event.container] = event
            return None, self._rules.exited(event, time.monotonic())
        return None, None

    def _printed(self, event: Line) -> None:
        for line in untangled(event.text, event.time, event.container):
            self._line(event, line)

    def _line(self, event: Line, line: LogLine) -> None:
        if line.rank is not None:
            host = self._host_of.get(line.rank, line.host)
            line = LogLine(line.time, host, line.rank, line.text)
        seen = self.seen
        before = seen.watch.proof
        seen.watch.see(line)
        seen.causes.see(line)
        seen.first_progress = seen.first_progress or seen.watch.progress
        proof = proof_of(line, seen.watch.stamp)
        if proof:
            seen.proofs[event.container] = proof
        if seen.watch.proof and not before and self._interrupt_after is not None:
            self._interrupt_at = time.monotonic() + self._interrupt_after
        self._see_pause(line)
        self._on_line(line, seen.watch)

    def _see_pause(self, line: LogLine) -> None:
        for what, begin, end in self._pauses:
            if what not in self._pause_began and begin.search(line.text):
                self._pause_began[what] = line.time
            elif what in self._pause_began and end.search(line.text):
                self.seen.pauses[what] = line.time - self._pause_began[what]

    def _last_words(self, ending: Ending) -> None:
        """A container that failed first is often explained by another's lines."""
        if ending.well:
            return
        until = time.monotonic() + _LAST_WORDS_SECONDS
        while time.monotonic() < until and len(self.seen.exits) < len(self._names):
            lost, _ = self._next(_POLL_SECONDS)
            if lost is not None:
                return

    def _interrupt(self) -> AttemptEnd:
        """SIGTERM as the service sends it. A job that ends by itself in the time that is left has
        ended before the interruption."""
        began = time.monotonic()
        hears = self._hears()
        ending, lines = self._ask_to_end(wait=True)
        if ending is not None and ending.well and not hears:
            return AttemptEnd(ENDED, ending)
        if lines:
            return AttemptEnd(INTERRUPTED, heard=f"rank {lines[0].rank}: {lines[0].text}")
        if hears and self.seen.exits:
            name = next(iter(self.seen.exits))
            seconds = time.monotonic() - began
            return AttemptEnd(INTERRUPTED, heard=f"{name} ended within {seconds:.0f} s of it")
        return AttemptEnd(INTERRUPTED)

    def _ask_to_end(self, wait: bool) -> tuple[Ending | None, list[LogLine]]:
        """SIGTERM to all, and the time that the service gives, less where all have ended.

        Gives the job's end, if it came in that time, and the lines of ranks that speak of it.
        """
        self._cluster.signal("SIGTERM")
        until = time.monotonic() + (self._conduct.stop_grace if wait else 0.0)
        lines: list[LogLine] = []
        take = self._on_line

        def listen(line: LogLine, watch: JobWatch) -> None:
            if line.rank is not None and "SIGTERM" in line.text:
                lines.append(line)
            take(line, watch)

        self._on_line = listen
        first: Ending | None = None
        while time.monotonic() < until and len(self.seen.exits) < len(self._names):
            lost, ending = self._next(min(_POLL_SECONDS, max(0.0, until - time.monotonic())))
            first = first or ending
            if lost is not None or (first is not None and first.well):
                break
        self._on_line = take
        return first, lines

    def _hears(self) -> bool:
        """Whether process 1 of any container has a handler for SIGTERM; the kernel drops the
        signal for a process 1 that has none."""
        for name in self._names:
            status = self._cluster.run_in(name, "cat", "/proc/1/status")
            match = re.search(r"^SigCgt:\s*([0-9a-f]+)", status, re.MULTILINE)
            if match and int(match[1], 16) & _SIGTERM_BIT:
                return True
        return False
