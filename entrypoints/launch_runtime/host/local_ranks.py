"""All ranks of this host: starting them, seeing how they fare, ending them."""

from __future__ import annotations

import os
import signal
import time
from typing import Any, Callable, Sequence

from launch_runtime import failures
from launch_runtime.failures import Failure
from launch_runtime.host import processes, rank_environment
from launch_runtime.host.cluster import Cluster
from launch_runtime.host.console import Console
from launch_runtime.host.peers.ranks_door import Meeting
from launch_runtime.host.ranks import Rank
from launch_runtime.host.settings import Settings
from launch_runtime.strategies.strategy import Contact

# As JSON. Some dozen bytes a variable, so a rank has rarely more than a tenth of it.
RANK_EVIDENCE_BYTES = 1 << 20
HOST_EVIDENCE_BYTES = 64 << 20
_UNKILLABLE_SECONDS = 5.0  # a process that the kernel does not let go is left behind


class LocalRanks:
    """The ranks of one host, none of them started yet.

    Args:
        cluster: The hosts.
        settings: This host's.
        console: Where the ranks' lines go.
        on_event: See :class:`RankOutput`.
    """

    def __init__(
        self,
        cluster: Cluster,
        settings: Settings,
        console: Console,
        on_event: Callable[[int, dict[str, Any]], None],
    ):
        self._cluster, self._settings, self._console = cluster, settings, console
        self._on_event = on_event
        self._ranks = [
            Rank(
                number,
                cluster.own.name,
                settings.world_size,
                settings.stamp,
                settings.strategy.words,
            )
            for number in numbers(cluster, settings)
        ]
        self._exited: set[int] = set()
        self._kill_at: float | None = None

    def start(
        self,
        command: Sequence[str],
        source: str,
        meeting: Meeting,
        packages: str = "",
        contacts: Sequence[Contact] = (),
    ) -> Failure | None:
        """Starts all of them; a failure where one cannot be.

        Args:
            command: After the interpreter: guard.py, script, arguments.
            source: The working folder.
            meeting: Where they find the other ranks.
            packages: A folder for the ranks' PYTHONPATH, or "".
            contacts: Where the hosts can be met, if the strategy asks for that.
        """
        for local_rank, rank in enumerate(self._ranks):
            try:
                environment = rank_environment.build(
                    os.environ,
                    self._cluster,
                    self._settings,
                    meeting,
                    local_rank,
                    packages,
                    contacts,
                )
                log = log_path(self._settings, rank.number)
                rank.start(command, source, environment, self._console, log, self._on_event)
            except (OSError, RuntimeError) as error:  # of a thread that cannot be started
                reason = f"rank {rank.number} cannot be started: {error}"
                return Failure(rank.host, reason, failures.STARTING, rank=rank.number)
        return None

    @property
    def ending(self) -> bool:
        """Whether :meth:`end` was called."""
        return self._kill_at is not None

    @property
    def running(self) -> bool:
        """Whether a rank has not ended yet, as far as :meth:`look` has seen."""
        return bool(self.alive)

    @property
    def alive(self) -> list[Rank]:
        """The ranks that have not ended yet, as far as :meth:`look` has seen."""
        return [rank for rank in self._ranks if rank.started and rank.number not in self._exited]

    @property
    def ended_well(self) -> bool:
        """Whether all ranks have ended, and none of them badly."""
        return not self.running and all(rank.failure is None for rank in self._ranks)

    @property
    def uninitialised(self) -> list[int]:
        """The ranks that have not joined the others."""
        return [rank.number for rank in self._ranks if not rank.initialised]

    @property
    def said_nothing(self) -> bool:
        """Whether no rank has joined a world, nor said that it ended without."""
        return not any(rank.proof or rank.initialised for rank in self._ranks)

    @property
    def proof(self) -> str:
        """What rank 0 has proven; "" on other hosts."""
        return self._ranks[0].proof

    @property
    def evidence(self) -> dict[int, list[dict[str, Any]]]:
        """Rank -> the last record of each of its processes, a bounded part of them."""
        limit = min(RANK_EVIDENCE_BYTES, HOST_EVIDENCE_BYTES // len(self._ranks))
        return {rank.number: rank.evidence(limit) for rank in self._ranks}

    @property
    def phase(self) -> str:
        """How far the first of them has come."""
        return self._ranks[0].phase

    def take(self, number: int, event: dict[str, Any]) -> Failure | None:
        """What a guard said of rank ``number``; a failure where it said that the rank fails."""
        rank = next(rank for rank in self._ranks if rank.number == number)
        try:
            return rank.take(event)
        except (KeyError, TypeError, ValueError):
            return None  # no guard's word: the script wrote to a descriptor that is not its own

    def look(self) -> list[Callable[[], Failure | None]]:
        """Finds out which ranks have ended since the last look.

        What their guards said last has been handed to ``on_event`` when this returns. Let that
        be taken in, then call what this returns: each gives the failure that is left to claim.
        """
        judgements = []
        self._ranks[0].look_for_proof()
        for rank in self._ranks:
            status = rank.poll()
            if status is not None and rank.number not in self._exited:
                self._exited.add(rank.number)
                rank.read_status()
                rank.look_for_proof()
                judgements.append(_judgement(rank, status))
        processes.reap_orphans({rank.pid for rank in self._ranks})
        return judgements

    def end(self, number: int, grace: float) -> None:
        """Sends a signal to all ranks, and SIGKILL ``grace`` seconds later; the first call counts.

        :meth:`kill_overdue` has to be called meanwhile.
        """
        if self._kill_at is None:
            self._kill_at = time.monotonic() + grace
            self._signal(number)

    def kill_overdue(self, now: bool = False) -> None:
        """Sends SIGKILL once the grace is over, or ``now``."""
        if self._kill_at is not None and (now or time.monotonic() > self._kill_at):
            self._signal(signal.SIGKILL)

    @property
    def given_up(self) -> bool:
        """Whether a rank that got SIGKILL is still there long after."""
        return self._kill_at is not None and (
            time.monotonic() > self._kill_at + _UNKILLABLE_SECONDS
        )

    def drain(self, seconds: float) -> None:
        """Ends whatever the ranks have left behind, and blocks until their output is read."""
        processes.end_descendants(2.0)
        deadline = time.monotonic() + seconds
        for rank in self._ranks:
            rank.drain(max(0.0, deadline - time.monotonic()))

    def _signal(self, number: int) -> None:
        for rank in self._ranks:
            if rank.number not in self._exited:
                rank.signal(number)


def numbers(cluster: Cluster, settings: Settings) -> range:
    """The global ranks of this host."""
    first = cluster.position * settings.processes
    return range(first, first + settings.processes)


def log_path(settings: Settings, number: int) -> str:
    """The file for a rank's raw output, or ""."""
    folder = settings.log_folder
    return os.path.join(folder, f"rank-{number}.log") if folder else ""


def _judgement(rank: Rank, status: int) -> Callable[[], Failure | None]:
    return lambda: rank.judge(status)
