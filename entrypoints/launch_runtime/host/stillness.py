"""Whether this host's ranks make progress, and their stacks once the first host asks for them.

Progress is an exchange or a step of training that the rank's guard counts, a line of output, or
that the rank has joined the others. Where steps are known, lines that count none put a hang off for
a while (host/ranks.py). Processor time is none: a rank that waits may spin.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Callable, Sequence

from launch_runtime import lines, stacks
from launch_runtime.host import stack_file
from launch_runtime.host.ranks import Rank
from launch_runtime.host.stack_file import Asked, StackFile

_ANSWER_SECONDS = 3.0  # for a process's stacks
_QUIET_SECONDS = 0.3  # after which an answer is whole
_LOOK_SECONDS = 0.05
_MOST_LINES = 400  # of one rank


class Stillness:
    """One host's.

    Args:
        ranks: Gives this host's ranks that run.
        after: Seconds without progress.
        waits: Where ranks wait for each other.
        tell: Changes this host's report; from any thread.
    """

    def __init__(
        self,
        ranks: Callable[[], Sequence[Rank]],
        after: float,
        waits: Sequence[stacks.Wait],
        tell: Callable[..., None],
    ):
        self._ranks, self._after, self._waits, self._tell = ranks, after, waits, tell
        self._still = False
        self._answered = 0

    def look(self, asked: int) -> None:
        """To be called again and again while the ranks run.

        Args:
            asked: The number of the first host's last question for stacks.
        """
        running = self._ranks()
        if not self._after or not running:
            return
        quiet = time.monotonic() - max(rank.progressed(self._after) for rank in running)
        still = quiet >= self._after
        if still != self._still:
            self._still = still
            self._tell(still=still)
        if still and asked > self._answered:
            self._answered = asked
            threading.Thread(target=self._answer, args=(asked, running), daemon=True).start()

    def _answer(self, number: int, running: Sequence[Rank]) -> None:
        found: list[dict[str, Any]] = []
        threads = [
            threading.Thread(target=lambda one=rank: found.append(self._entry(one)), daemon=True)
            for rank in running
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._tell(stacks={"number": number, "ranks": found})

    def _entry(self, rank: Rank) -> dict[str, Any]:
        """Prints a rank's stacks as lines of it, and says them in a few words."""
        state, answers, busy, text = stack_file.state_of(rank.pid), [], False, []
        for pid in rank.stacks.processes(rank.pid) if rank.stacks else []:
            begun = time.monotonic()
            asked = rank.stacks.ask(pid) if rank.stacks else None
            if asked is None or rank.stacks is None:
                continue
            threads = _awaited(rank.stacks, asked)
            answers.append((pid, threads))
            if pid == rank.pid:
                busy = stack_file.is_busy(asked, time.monotonic() - begun)
            if threads:
                text.append(f"stacks of rank {rank.number}, process {pid}:")
                text += stacks.shown(threads)
        entry = stack_file.described(answers, self._waits, state, busy)
        if not entry["at"]:
            text.insert(0, f"stacks of rank {rank.number}: none could be read, state {state}")
        rank.say([lines.PREFIX + line for line in text[:_MOST_LINES]])
        return {"rank": rank.number, "counts": dict(rank.counts), **entry}


def _awaited(file: StackFile, asked: Asked) -> list[stacks.Thread]:
    """Blocks until a process has written its stacks, or for seconds."""
    begun = changed = time.monotonic()
    size = asked.begin
    while time.monotonic() - begun < _ANSWER_SECONDS:
        time.sleep(_LOOK_SECONDS)
        now, before, size = time.monotonic(), size, file.size
        changed = now if size != before else changed
        if size > asked.begin and now - changed >= _QUIET_SECONDS:
            break
    return file.answer(asked)
