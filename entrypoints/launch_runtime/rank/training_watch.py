"""This process's collector of evidence, and the moments at which it is asked for its last word.

The collector (``exchange``) looks at the training. Here it is told when the world is joined
and left, and that the process ends; nothing that goes wrong with it may change how the script
fares.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING, Any, Iterator, Mapping

from launch_runtime import environment as env
from launch_runtime import lines
from launch_runtime.evidence.records import EXCHANGE, INIT, MODES
from launch_runtime.rank import exit_hook
from launch_runtime.rank.exchange import collector
from launch_runtime.rank.reporter import Reporter

if TYPE_CHECKING:
    from launch_runtime.strategies.strategy import Strategy

VARIABLE = "LAUNCH_PROOF"
# The collector itself takes seconds at most; a device that does not answer any more takes forever.
LIMIT_SECONDS = 30.0


def is_wanted(environment: Mapping[str, str], world_size: int) -> bool:
    """Whether the job's proof rests on evidence of its training.

    Raises:
        environment.SettingError: LAUNCH_PROOF is something else.
    """
    mode = env.choice(environment, VARIABLE, MODES, default=EXCHANGE)
    return world_size > 1 and mode != INIT


class TrainingWatch:
    """Watches the training in this process, and in those that it forks.

    Args:
        reporter: Passes records on.
        wanted: False makes an object that does nothing.
        guard: The process id of the guard.
        strategy: Whose hooks watch.
    """

    def __init__(self, reporter: Reporter, wanted: bool, guard: int, strategy: Strategy):
        self._reporter, self._guard = reporter, guard
        self._collector: Any = None
        self._deadline: _Deadline | None = None
        self._warned = False
        if wanted:
            try:
                self._collector = collector.install(self._send, strategy.tables)
            except Exception as error:
                self._give_up(error)

    def joined(self) -> None:
        """This process has joined the world."""
        if self._collector is not None:
            self._ask("initialised", last_word=False)

    def leaving(self) -> None:
        """It is about to leave it; blocks for seconds."""
        if self._collector is not None:
            deadline, self._deadline = self._deadline, None
            with _within(deadline):
                self._ask("shut-down", last_word=True)

    def counts(self) -> dict[str, int]:
        """What it has seen so far, by name; from any thread."""
        return self._collector.counts() if self._collector is not None else {}

    def stand_by(self) -> None:
        """The script's last line is through, and it ends well: what is left has its deadline."""
        if self._collector is not None:
            self._deadline = _Deadline.prepared()

    def finish(self, code: int = 0) -> None:
        """Sends this process's last record; blocks for seconds.

        Args:
            code: What the process will end with, and does end with should this take too long.
        """
        if self._collector is None:
            return
        deadline, self._deadline = self._deadline, None
        if deadline is None or not deadline.is_alive():  # a fork leaves no thread alive but one
            deadline = _Deadline.prepared()
        deadline.code = code
        with _within(deadline):
            self._ask("", last_word=True)

    def _ask(self, state: str, last_word: bool) -> None:
        """For the last word, and tells what has become of the world."""
        try:
            if last_word:
                self._collector.finish()
                self._reporter.print_evidence()
            if state:
                self._collector.world(state)
        except Exception as error:
            self._give_up(error)

    def _send(self, record: dict[str, Any]) -> None:
        # A helper that the script starts in a process of its own trains nothing.
        if os.getpid() == self._guard or record.get("sets") or record.get("other"):
            self._reporter.evidence(record)
        self._warn_of_idle_gpu(record)

    def _warn_of_idle_gpu(self, record: Mapping[str, Any]) -> None:
        """Once, in the first steps: whoever pays for the GPU can still end the job."""
        idle = record.get("idle_gpu")
        if not idle or self._warned or self._reporter.rank != 0:
            return
        if any(one["groups"] for one in record["sets"]):  # it trains
            self._warned = True
            self._reporter.line(
                lines.warning(f"rank 0 trains on the CPU, and its GPU is idle: {idle}")
            )

    def _give_up(self, error: Exception) -> None:
        self._collector = None
        self._reporter.line(lines.warning(f"the training of a rank is not watched: {error!r}"))


class _Deadline(threading.Thread):
    """Ends the process if its last words take too long; waits until they begin."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.code = 0
        self.begun, self.done = threading.Event(), threading.Event()

    def run(self) -> None:
        self.begun.wait()
        if not self.done.wait(LIMIT_SECONDS):
            exit_hook.at_once(self.code)

    @classmethod
    def prepared(cls) -> _Deadline:
        """One that waits; where Python starts no thread any more, it never ends anything."""
        deadline = cls()
        with contextlib.suppress(RuntimeError):
            deadline.start()
        return deadline


@contextlib.contextmanager
def _within(deadline: _Deadline | None) -> Iterator[None]:
    if deadline is None:
        yield
        return
    deadline.begun.set()
    try:
        yield
    finally:
        deadline.done.set()
