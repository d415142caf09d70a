"""Many jobs of one file: all checked first, then so many at once, and a table of them."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from launchers.cli.catalogue import RULES
from launchers.cli.jobs.follow import wait_for_end
from launchers.cli.jobs.notify import tell_of_end
from launchers.cli.jobs.submission import MOST_AT_ONCE
from launchers.cli.options import Given
from launchers.cli.show.as_json import dry_run_as_json, problem_as_json
from launchers.cli.show.output import answer, print_documents, say, say_plan, say_problems
from launchers.cli.show.progress import reading_shown
from launchers.cli.show.table import fitted, table
from launchers.core import pipeline
from launchers.core.model.jobs import FINAL_STATES, SUCCEEDED, JobHandle
from launchers.core.model.problems import (
    EXIT_BAD_REQUEST,
    EXIT_INTERRUPTED,
    EXIT_JOB_DID_NOT_SUCCEED,
    EXIT_OK,
    InDoubtError,
    LaunchError,
    Problem,
    errors,
)
from launchers.core.planning.plan import counted
from launchers.core.provider import Provider
from launchers.core.source.script import JobSource

if TYPE_CHECKING:
    from launchers.cli.answers.jobs import SweepJob

# A row whose job needs nobody to end it.
_ENDS = FINAL_STATES | {"waiting", "not started"}
# What an interrupt waits for requests that are on their way.
_SENDING_SECONDS = 10.0
_COLUMNS = ("JOB", "STATE", "RANKS", "ARGUMENTS", "PROOF OR REASON")
_MAY_GO = ("RANKS", "ARGUMENTS", "PROOF OR REASON")


@dataclass
class _Row:
    """One job of the sweep, as the table shows it."""

    prepared: pipeline.Prepared
    state: str = "waiting"
    text: str = ""
    handle: JobHandle | None = None
    problems: tuple[Problem, ...] = ()

    def as_json(self) -> SweepJob:
        """The same for a program."""
        from launchers.core.credentials.elsewhere import masked_arguments

        definition = self.prepared.definition
        return {
            "name": definition.name,
            "provider": definition.provider,
            "state": self.state,
            "text": self.text,
            "world_size": definition.world_size,
            "arguments": masked_arguments(self.prepared.job.arguments),
            "problems": [problem_as_json(one) for one in self.problems],
        }

    def cells(self) -> tuple[str, ...]:
        """The table's line."""
        definition, job = self.prepared.definition, self.prepared.job
        words = " ".join(job.arguments)
        return (definition.name, self.state, str(definition.world_size), words, self.text)


def run_sweep(chosen: Provider, given: Given, values: Mapping[str, Any], mode: str) -> int:
    """Every job of the sweep; nothing is sent unless all of them are right.

    Returns:
        0 where every job succeeded and was proven.
    """
    if not chosen.charges_money or mode == "docker":
        raise LaunchError(_refused(chosen, mode))
    at_once = min(len(given.sweep), values["max_parallel"] or MOST_AT_ONCE)
    ignored, again = tuple(values.get("ignore_sdk") or ()), bool(values.get("again"))
    online = mode == "run"
    rows: list[_Row] = []
    sources: dict[tuple[object, ...], JobSource] = {}
    for job in given.sweep:
        key = (job.script, job.module, job.source, job.requirements, job.allow_values)
        source = sources.get(key)
        prepared = pipeline.prepare(chosen, job, again, online, ignored, source, told=reading_shown)
        sources[key] = prepared.plan.source
        rows.append(_Row(prepared))
    problems = [problem for row in rows for problem in row.prepared.problems]
    _same_name(rows, problems)
    first_of = f"{given.read_from}, the first of {len(rows)}"
    say_plan(rows[0].prepared.plan, chosen.title, first_of, sends=online)
    say_problems(dict.fromkeys(problems))
    if errors(problems):
        return EXIT_BAD_REQUEST
    if mode == "print":
        _print(chosen, given, rows, values)
        return EXIT_OK
    say(f"{counted(len(rows), 'job')}, at most {at_once} at once")
    return _run_all(chosen, rows, at_once, values)


def _print(chosen: Provider, given: Given, rows: list[_Row], values: Mapping[str, Any]) -> None:
    """The dry run's answer: one value, with all jobs."""
    if not values["as_json"]:
        print_documents([row.prepared.definition for row in rows], values["form"])
        return
    answer(
        [
            dry_run_as_json(chosen, one, given.read_from, [*given.warnings, *one.problems])
            for one in (row.prepared for row in rows)
        ]
    )


def _run_all(chosen: Provider, rows: list[_Row], at_once: int, values: Mapping[str, Any]) -> int:
    screen = _Screen(rows)
    waiting, stopped = deque(rows), threading.Event()
    ignored = tuple(values.get("ignore_sdk") or ())

    def work() -> None:
        while not stopped.is_set():
            try:
                row = waiting.popleft()
            except IndexError:
                return
            _run_one(chosen, row, ignored, screen, bool(values["detach"]))

    # Daemons: an interrupt ends the command, and the jobs go on.
    threads = [threading.Thread(target=work, daemon=True) for _ in range(at_once)]
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
        code = _interrupted(chosen, rows, bool(values.get("cancel_on_interrupt")))
        if values["as_json"]:
            answer([row.as_json() for row in rows])
        return code
    screen.end()
    if values["as_json"]:
        answer([row.as_json() for row in rows])
    else:
        table(_COLUMNS, [row.cells() for row in rows], _MAY_GO, prose=_COLUMNS[-1])
    if values["detach"]:
        return EXIT_OK if all(row.handle for row in rows) else EXIT_JOB_DID_NOT_SUCCEED
    succeeded = all(row.state == SUCCEEDED for row in rows)
    return EXIT_OK if succeeded else EXIT_JOB_DID_NOT_SUCCEED


def _run_one(
    chosen: Provider, row: _Row, ignored: tuple[str, ...], screen: _Screen, detach: bool
) -> None:
    """One job to its end; what goes wrong is its row's reason, and no other job's."""

    def tell(text: str) -> None:
        row.text = text
        screen.changed(row)

    try:
        existing = row.prepared.run.existing
        if existing is not None:
            row.handle, row.state, row.text = existing.handle, existing.state, existing.proof
        else:
            row.state = "submitting"
            screen.changed(row)
            row.handle = pipeline.submit(chosen, row.prepared, ignored)
            row.state = "running"
        screen.changed(row)
        if detach:
            return
        status = wait_for_end(chosen, row.handle, known=True, tell=tell)
        row.state, row.text = status.state, status.proof or status.reason
        if row.prepared.job.notify:
            tell_of_end(chosen, row.handle, status, row.prepared.job.notify)
    except InDoubtError as error:
        row.state, row.text, row.problems = "in doubt", _first_line(error), error.problems
    except LaunchError as error:
        row.state, row.text, row.problems = "not started", _first_line(error), error.problems
        if row.handle is not None:
            row.state = "unknown"
    screen.changed(row)


def _first_line(error: LaunchError) -> str:
    from launchers.core.credentials.elsewhere import without_credentials

    return without_credentials(str(error).splitlines()[0])


class _Screen:
    """A live table on a terminal, a line a change in a pipe."""

    def __init__(self, rows: list[_Row]):
        self._rows, self._live = rows, None
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), refresh_per_second=4, transient=True)
            self._live.start()

    def changed(self, row: _Row) -> None:
        """A job has another state."""
        if self._live is None:
            say(f"  {row.prepared.definition.name}  {row.state}  {row.text}".rstrip())

    def draw(self) -> None:
        """Show the table as it is now."""
        if self._live is None:
            return
        from rich.text import Text

        width = self._live.console.width
        cells = [row.cells() for row in self._rows]
        drawn = fitted(_COLUMNS, cells, width, _MAY_GO, prose=_COLUMNS[-1])
        self._live.update(Text("\n".join((*drawn.heading, *drawn.lines))))

    def end(self) -> None:
        """Leave the terminal clean."""
        if self._live is not None:
            self._live.stop()


def _interrupted(chosen: Provider, rows: list[_Row], cancel: bool) -> int:
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
            say(f"  {row.prepared.definition.name} may have been sent")
    if started or not cancel:
        say("  to stop one: launch cancel JOB; to see all: launch list")
    return EXIT_INTERRUPTED


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


def _same_name(rows: list[_Row], problems: list[Problem]) -> None:
    """Entries that are written differently may still be the same job."""
    seen: dict[str, int] = {}
    for index, row in enumerate(rows):
        before = seen.setdefault(row.prepared.definition.name, index)
        if before != index:
            problems.append(
                RULES["sweep-twice"].at(
                    f"sweep[{index}]", f"the same job as [{before}]", fix="remove one of the two"
                )
            )


def _refused(chosen: Provider, mode: str) -> Problem:
    if mode == "docker":
        return RULES["sweep-rehearsal"].at("--dry-run=docker", "a sweep")
    found = f"launch {chosen.name}"
    return RULES["sweep-local"].at("sweep", found)
