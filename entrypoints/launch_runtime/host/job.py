"""The job as one host has it: the first one serves and decides, the others ask; all report."""

from __future__ import annotations

import time
import uuid
from typing import Any, Callable

from launch_runtime.failures import Failure
from launch_runtime.host import network
from launch_runtime.host.cluster import Cluster
from launch_runtime.host.coordinator import Coordinator
from launch_runtime.host.membership import Membership, over_http
from launch_runtime.host.rendezvous import PortError, Rendezvous
from launch_runtime.host.settings import Settings

__all__ = ["Job", "PortError"]

_FAREWELL_SECONDS = 5.0
_ENDED_SECONDS = 3.0  # how long the first host lets others finish their output before it speaks
_HEARD_LATELY_SECONDS = 2.0  # a host that is silent for longer is not waited for at the end


class Job(Membership):
    """Membership, and on the first host the server behind it.

    Args:
        cluster: The hosts.
        settings: This host's.
        say: Prints a line for people.
        wake: Called from another thread when there is news.

    Raises:
        PortError: This is the first host, and the port cannot be had.
    """

    def __init__(
        self,
        cluster: Cluster,
        settings: Settings,
        say: Callable[[str], None],
        wake: Callable[[], None],
    ):
        self.port = cluster.port
        self._coordinator: Coordinator | None = None
        incarnation = uuid.uuid4().hex
        if cluster.position > 0:
            exchange = over_http(cluster.first.address, cluster.port)
            super().__init__(cluster, settings, incarnation, exchange, wake)
            return
        self._coordinator = Coordinator(
            cluster, settings, incarnation, time.monotonic(), say, on_news=self.look
        )
        super().__init__(cluster, settings, incarnation, self._decide_here, wake)
        address = "127.0.0.1" if network.is_loopback(cluster.first.address) else "0.0.0.0"
        self.port = Rendezvous(address, cluster.port, self._decide_here).server_port

    def leave(self, verdict: Failure | None) -> None:
        """Tells the first host that this one's ranks have ended; blocks for seconds at most.

        On the first host it waits for the others to end theirs.
        """
        self.deliver(_FAREWELL_SECONDS)
        if verdict and not verdict.judged:
            self._await_others("ended", _ENDED_SECONDS)

    def speaks_of(self, verdict: Failure) -> bool:
        """Whether this host prints the job's one line about ``verdict``: the first one does, and
        a host that could not hear it."""
        return self._coordinator is not None or self.decided_alone

    def see_off(self, verdict: Failure | None) -> None:
        """On the first host, blocks until all others know the end, or were silent for seconds."""
        hurried = verdict is not None and not verdict.judged
        self._await_others("left", _FAREWELL_SECONDS if hurried else self._settings.host_timeout)

    def _decide_here(self, report: dict[str, Any]) -> dict[str, Any]:
        assert self._coordinator is not None
        return self._coordinator.report(report, time.monotonic())

    def _await_others(self, word: str, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self._coordinator is not None and time.monotonic() < deadline:
            now = time.monotonic()
            if not self._coordinator.waiting_for(now, word, _HEARD_LATELY_SECONDS):
                return
            time.sleep(0.05)
