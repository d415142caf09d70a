"""Jobs beside each other: so many at once, each to its end, shown together while they run."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from launchers.cli.jobs.follow import wait_for_end
from launchers.cli.jobs.notify import tell_of_end
from launchers.cli.show.output import say, say_problems
from launchers.cli.show.table import fitted
from launchers.core import pipeline
from launchers.core.model.jobs import FINAL_STATES, SUCCEEDED, JobHandle, JobStatus
from launchers.core.model.problems import InDoubtError, LaunchError, Problem
from launchers.core.planning.plan import counted
from launchers.core.provider import Provider

# A row whose job needs nobody to end it.
_ENDS = FINAL_STATES | {"waiting", "not started"}
# What an interrupt waits for requests that are on their way.
_SENDING_SECONDS = 10.0
COLUMNS = ("JOB", "STATE", "RANKS", "ARGUMENTS", "PROOF OR REASON")
MAY_GO = ("RANKS", "ARGUMENTS", "PROOF OR REASON")


@dataclass
class Row:
    """One job of several, as their table shows it.

    Attributes:
        prepared: What is sent, unless :attr:`handle` says that it has been.
        state: As of the job, or what comes before.
        text: The proof or the reason.
        handle: The job, once it was sent.
        problems: Why it was not started, or could not be followed.
    """

    prepared: pipeline.Prepared
    state: str = "waiting"
    text: str = ""
    handle: JobHandle | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def name(self) -> str:
        """Of the job."""
        return self.handle.name if self.handle else self.prepared.definition.name

    def cells(self) -> tuple[str, ...]:
        """The table's line."""
        words = " ".join(self.prepared.job.arguments)
        size = str(self.prepared.definition.world_size)
        return (self.name, self.state, size, words, self.text)


@dataclass(frozen=True)
class Beside:
    """What all the jobs of one command share.

    Attributes:
        at_once: So many at a time.
        ignored: Packages of ``--ignore-sdk``.
        detach: Whether nobody waits for their ends.
        cancel: Whether an interrupt ends them.
        sending: Told before a job is sent.
        ended: Told when one has ended, from the thread that saw it.
    """

    chosen: Provider
    at_once: int
    ignored: tuple[str, ...] = ()
    detach: bool = False
    cancel: bool = False
    sending: Callable[[Row], None] = lambda row: None
    ended: Callable[[Row, JobStatus], None] = lambda row, status: None

    def run(self, rows: Sequence[Row]) -> bool:
        """All of ``rows`` to their ends; what goes wrong with one is its row's reason.

        Returns:
            Whether it was interrupted; what becomes of the jobs then has been said.
        """
        screen = _Screen(rows)
        waiting, stopped = deque(rows), threading.Event()

        def work() -> None:
            while not stopped.is_set():
                try:
                    row = waiting.popleft()
                except IndexError:
                    return
                self._run_one(row, screen)

        # Daemons: an interrupt ends the command, and the jobs go on.
        threads = [threading.Thread(target=work, daemon=True) for _ in range(self.at_once)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.2)
                    screen.draw()
        except KeyboardInterrupt:
            stopped.set()
            screen.end()
            _interrupted(self.chosen, rows, self.cancel)
            return True
        screen.end()
        return False

    def _run_one(self, row: Row, screen: _Screen) -> None:
        """One job to its end; what goes wrong is its row's reason, and no other job's."""

        def tell(text: str) -> None:
            row.text = text
            screen.changed(row)

        try:
            self._send(row, screen)
            assert row.handle is not None
            screen.changed(row)
            if self.detach:
                return
            status = wait_for_end(self.chosen, row.handle, known=True, tell=tell)
            row.state = status.state
            row.text = status.proof if status.state == SUCCEEDED else status.reason
            self.ended(row, status)
            if row.prepared.job.notify:
                tell_of_end(self.chosen, row.handle, status, row.prepared.job.notify)
        except InDoubtError as error:
            row.state, row.text, row.problems = "in doubt", _first_line(error), error.problems
        except LaunchError as error:
            row.state, row.text, row.problems = "not started", _first_line(error), error.problems
            if row.handle is not None:
                row.state = "unknown"
        screen.changed(row)

    def _send(self, row: Row, screen: _Screen) -> None:
        if row.handle is not None:
            row.state = "running"
            return
        existing = row.prepared.run.existing
        if existing is not None:
            self.sending(row)
            row.handle, row.state, row.text = existing.handle, existing.state, existing.proof
            return
        # From here on an interrupt waits for it, and says that it may have been sent.
        row.state = "submitting"
        self.sending(row)
        screen.changed(row)
        row.handle = pipeline.submit(self.chosen, row.prepared, self.ignored)
        row.state = "running"


def _first_line(error: LaunchError) -> str:
    from launchers.core.credentials.elsewhere import without_credentials

    return without_credentials(str(error).splitlines()[0])


class _Screen:
    """A live table on a terminal, a line a change in a pipe."""

    def __init__(self, rows: Sequence[Row]):
        self._rows, self._live = rows, None
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), refresh_per_second=4, transient=True)
            self._live.start()

    def changed(self, row: Row) -> None:
        """A job has another state."""
        if self._live is None:
            say(f"  {row.name}  {row.state}  {row.text}".rstrip())

    def draw(self) -> None:
        """Show the table as it is now."""
        if self._live is None:
            return
        from rich.text import Text

        width = self._live.console.width
        cells = [row.cells() for row in self._rows]
        drawn = fitted(COLUMNS, cells, width, MAY_GO, prose=COLUMNS[-1])
        self._live.update(Text("\n".join((*drawn.heading, *drawn.lines))))

    def end(self) -> None:
        """Leave the terminal clean."""
        if self._live is not None:
            self._live.stop()


def _interrupted(chosen: Provider, rows: Sequence[Row], cancel: bool) -> None:
    # What is being sent now will be a job that somebody pays for: a moment, to know which.
    deadline = time.monotonic() + _SENDING_SECONDS
    with suppress(KeyboardInterrupt):  # a second one: not even that moment
        while any(row.state == "submitting" for row in rows) and time.monotonic() < deadline:
            time.sleep(0.05)
    started = [row.handle for row in rows if row.handle and row.state not in _ENDS]
    if cancel:
        stopping = [handle for handle in started if _ask_to_stop(chosen, handle)]
        names = " ".join(handle.name for handle in stopping)
        say(f"interrupted: {counted(len(stopping), 'job')} asked to stop: {names}")
        started = [handle for handle in started if handle not in stopping]
    if started or not cancel:
        go_on = "goes on" if len(started) == 1 else "go on"
        names = " ".join(handle.name for handle in started)
        say(f"interrupted: {counted(len(started), 'job')} {go_on}: {names}")
    for row in rows:
        if row.state in ("submitting", "in doubt"):
            say(f"  {row.name} may have been sent")
    if started or not cancel:
        say("  to stop one: launch cancel JOB; to see all: launch list")


def _ask_to_stop(chosen: Provider, handle: JobHandle) -> bool:
    """Whether the provider took the request; a failure does not keep the others from it."""
    try:
        chosen.service.cancel(handle)
    except LaunchError as error:
        say_problems(error.problems)
        return False
    except KeyboardInterrupt:
        return False
    return True
