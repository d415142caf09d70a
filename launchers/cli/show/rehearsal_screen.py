"""A rehearsal while it runs: its plan, how far a pull is, its stages, the job's lines."""

from __future__ import annotations

from typing import Any

from launchers.cli.show.output import say, styled
from launchers.cli.show.progress import ByteProgress
from launchers.cli.show.screen import Screen
from launchers.core.model.jobs import LogLine
from launchers.core.output.lines import JobWatch
from launchers.core.roles import Contract


class RehearsalScreen(Screen):
    """Shows a rehearsal: what deviates first, then the job's lines.

    Args:
        to_stderr: Lines go to stderr, because stdout carries the answer.

    Attributes:
        left_behind: Whether the engine kept something that was to be removed.
    """

    def __init__(self, contract: Contract, to_stderr: bool, verbose: bool):
        super().__init__(to_stderr, contract, verbose)
        self.left_behind = False
        self._watch: JobWatch | None = None
        self._bytes = ByteProgress()

    def plan(self, prepared: Any, labels: Any) -> None:
        """The deviations, before anything starts."""
        hosts = ", ".join(container.name for container in prepared.containers)
        say(f"{styled('rehearsal', 'bold')}  {labels.job} in containers on this machine: {hosts}")
        for text in prepared.deviations:
            say(f"  {styled('deviation', 'yellow')}  {text}")
        if prepared.limits.memory:
            say(f"  memory     {prepared.limits.memory / 1024**3:.1f} GiB a host")
        say(f"  id         {labels.id}")

    def note(self, text: str) -> None:
        """A line for a person."""
        self.left_behind |= text.startswith("left behind")
        say(text)

    def progress(self, label: str, done: int, total: int) -> None:
        """So many bytes of ``total`` are there."""
        self._bytes.show(label, done, total)

    def line(self, line: LogLine, watch: JobWatch) -> None:
        """A line of the job."""
        self._watch = watch
        self.show(line, watch)

    def close(self) -> None:
        """Show what was held back, and leave the last line clean."""
        self.end(self._watch)
