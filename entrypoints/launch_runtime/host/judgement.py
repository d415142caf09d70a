"""Whether the ranks of a job that ended well trained together: all hosts' evidence, judged once."""

from __future__ import annotations

from typing import Any

from launch_runtime.evidence.finding import Finding
from launch_runtime.failures import ENDING, Failure
from launch_runtime.host.settings import Settings


class Judgement:
    """Collects the hosts' evidence; belongs to the coordinator, and is as safe as that.

    Args:
        settings: The first host's.
    """

    def __init__(self, settings: Settings):
        self._settings = settings
        self._found: dict[int, dict[int, list[Any]]] = {}  # host -> rank -> records
        self._finding: Finding | None = None

    def take(self, host: int, found: Any) -> None:
        """The evidence that a host has reported: rank -> records, of its own ranks alone."""
        if not isinstance(found, dict):
            return
        processes = self._settings.processes
        # JSON has no keys but words.
        own = {str(rank): rank for rank in range(host * processes, (host + 1) * processes)}
        self._found[host] = {
            own[str(key)]: records
            for key, records in found.items()
            if str(key) in own and isinstance(records, list)
        }

    def has(self, host: int) -> bool:
        """Whether a host's evidence is here."""
        return host in self._found

    @property
    def words(self) -> str:
        """For the proof, once it is judged; or ""."""
        return self._finding.words if self._finding else ""

    @property
    def is_good(self) -> bool:
        """Whether it is judged, and nothing speaks against the job."""
        return self._finding is not None and not self._finding.failure

    def failure(self, host: str) -> Failure | None:
        """The job's failure, where the ranks trained apart; judged in the first call.

        Args:
            host: To be named with it.
        """
        if self._finding is None:
            size, mode = self._settings.world_size, self._settings.proof
            found = {rank: own for ranks in self._found.values() for rank, own in ranks.items()}
            strategy, ranks = self._settings.strategy, self._settings.ranks
            try:
                self._finding = strategy.judge(found, ranks, size, mode)
            except Exception:  # whatever a script has made of it: nothing can be seen
                self._finding = strategy.judge({}, ranks, size, mode)
        reason, fix = self._finding.failure, self._finding.fix
        return Failure(host, reason, ENDING, judged=True, fix=fix) if reason else None
