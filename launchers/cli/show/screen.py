"""A job's lines as they come: what tells nothing of it left out, a bar while it trains."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from launchers.cli.show.last_line import give_way
from launchers.cli.show.output import rank_style, say, styled
from launchers.cli.show.progress import Bar
from launchers.cli.show.training import bar_words
from launchers.core.model.chatter import Chatter
from launchers.core.model.jobs import LogLine
from launchers.core.output.chatter import ChatterFolder
from launchers.core.output.lines import (
    JobWatch,
    explains_failure,
    is_evidence,
    is_progress,
    shown,
    tag,
    tells_failure,
)
from launchers.core.output.tracebacks import TracebackFolder
from launchers.core.printable import printable
from launchers.core.roles import Contract

if TYPE_CHECKING:
    from launchers.core.output.training_progress.state import Progress


class Screen:
    """Prints tagged lines; on a terminal, progress is a bar on the last line instead.

    Lines are made printable (:mod:`launchers.core.printable`). What a framework, a toolkit and
    ranks that follow a failing one print is left out and counted; a line that only a program
    reads is never shown.

    Args:
        to_stderr: Lines go to stderr, because stdout carries the JSON answer.
        contract: Of the provider, which knows what its containers print around a job.
        verbose: Leave nothing out but what only a program reads.
        verdict_follows: Why the job fails is told after its lines, and so not among them.
    """

    def __init__(
        self,
        to_stderr: bool = False,
        contract: Contract | None = None,
        verbose: bool = False,
        verdict_follows: bool = True,
    ):
        self._stream = sys.stderr if to_stderr else sys.stdout
        self._bar: Bar | None = None
        self._draws = self._stream.isatty()
        self._verbose = verbose
        chatter = contract.chatter() if contract is not None and not verbose else Chatter()
        self._chatter, self._title = ChatterFolder(chatter), chatter.title
        self._tracebacks = TracebackFolder()
        self._verdict_follows = self._failure_told = verdict_follows
        self._blank: dict[tuple[str, int | None], LogLine] = {}
        self._hidden = 0

    @property
    def left_out(self) -> int:
        """How many lines were not shown."""
        return self._hidden + self._chatter.left_out + self._tracebacks.left_out

    @property
    def whose(self) -> str:
        """What the lines that were left out are of."""
        return f"{self._title} and frameworks" if self._title else "frameworks"

    def has_shown_traceback(self, rank: int | None) -> bool:
        """Whether a traceback of that rank was shown, or the same one of another."""
        return rank in self._tracebacks.shown

    def show(self, line: LogLine, watch: JobWatch) -> None:
        """Take one line; prints what is ready to be printed."""
        for visible in self._visible(line, watch):
            if self._verbose:
                self._print(visible, watch.progress)
                continue
            for passed in self._chatter.feed(visible):
                for ready in self._tracebacks.feed(passed, watch.failure):
                    self._print(ready, watch.progress)

    def end(self, watch: JobWatch | None = None) -> None:
        """Print what was held back, and leave the last line clean."""
        for ready in self._tracebacks.flush(watch.failure if watch is not None else None):
            self._print(ready, None)
        if self._bar is not None:
            self._bar.end()
        give_way()

    def _visible(self, line: LogLine, watch: JobWatch) -> list[LogLine]:
        """The line as a person may see it, and the empty one before it."""
        if is_evidence(line.text):
            self._blank.pop((line.host, line.rank), None)
            return []
        if tells_failure(line.text):
            self._blank.pop((line.host, line.rank), None)
            if self._failure_told:
                return []
            self._failure_told = True
        if self._verdict_follows and explains_failure(line.text):
            return []
        visible = shown(line, watch.without_gpus)
        if visible is None:
            if not self._verbose:
                self._hidden += 1
                return []
            visible = replace(line, host=printable(line.host), text=printable(line.text))
        return self._with_blank(visible)

    def _with_blank(self, line: LogLine) -> list[LogLine]:
        """An empty line waits for the next of its rank: our own lines begin with one, by which
        they end what a script has left unfinished."""
        key = (line.host, line.rank)
        if line.rank is not None and not line.text:
            before = self._blank.get(key)
            self._blank[key] = line
            return [before] if before else []
        before = self._blank.pop(key, None)
        return [line] if before is None or line.text.startswith("launch: ") else [before, line]

    def _print(self, line: LogLine, progress: Progress | None) -> None:
        give_way()
        drawn = self._draws and progress is not None
        if not (drawn and is_progress(line.text)):
            label = tag(line)
            if label:
                label = styled(label, rank_style(line.rank), self._stream) + " "
            print(label + line.text, file=self._stream, flush=True)
        if drawn and progress is not None:
            self._bar = self._bar or Bar(self._stream)
            known = progress.fraction is not None
            self._bar.show(bar_words(progress), progress.fraction or 0.0, 1.0 if known else None)


def say_last_words(rank: int | None, lines: Sequence[str]) -> None:
    """The last words of the rank that failed first, or of its container."""
    if not lines:
        return
    whose = "its container" if rank is None else f"rank {rank}"
    what = "traceback" if lines[0].startswith("Traceback (") else "last lines"
    say(f"  the {what} of {whose}:")
    for text in lines:
        say(f"    {text}")
