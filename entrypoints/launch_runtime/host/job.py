"""The job as one host has it: the first one serves and decides, the others ask; all report."""

from __future__ import annotations

import functools
import time
import uuid
from typing import Any, Callable

from launch_runtime.failures import Failure
from launch_runtime.host import network
from launch_runtime.host.cluster import Cluster
from launch_runtime.host.coordinator import Coordinator
from launch_runtime.host.membership import Membership
from launch_runtime.host.peers.door import PortError
from launch_runtime.host.peers.first_host import FirstHost
from launch_runtime.host.peers.keys import Keys
from launch_runtime.host.peers.ranks_door import RanksDoor
from launch_runtime.host.peers.rendezvous import Rendezvous, SharedKeys
from launch_runtime.host.peers.signatures import Key
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
        key: The job's.
        say: Prints a line for people.
        wake: Called from another thread when there is news.

    Attributes:
        meeting: Where this host's ranks find the others.

    Raises:
        PortError: This is the first host, and the port cannot be had.
    """

    def __init__(
        self,
        cluster: Cluster,
        settings: Settings,
        key: Key,
        say: Callable[[str], None],
        wake: Callable[[], None],
    ):
        self._coordinator: Coordinator | None = None
        incarnation = uuid.uuid4().hex
        keys = Keys(settings.world_size, settings.processes)
        if cluster.position > 0:
            first = FirstHost(
                cluster.first.address,
                [cluster.port, *cluster.other_ports],
                key,
                cluster.position,
                incarnation,
                say,
            )
            super().__init__(cluster, settings, incarnation, first.report, wake)
            self.meeting = RanksDoor(first.ask_for_key, keys.longest_value).meeting
            return
        self._coordinator = Coordinator(
            cluster, settings, incarnation, time.monotonic(), say, on_news=self.look
        )
        super().__init__(cluster, settings, incarnation, self._decide_here, wake)
        shared = SharedKeys(keys)
        ask = functools.partial(shared.ask, host=0)
        self.meeting = RanksDoor(ask, keys.longest_value).meeting
        if len(cluster.hosts) == 1:
            return
        address = "127.0.0.1" if network.is_loopback(cluster.first.address) else "0.0.0.0"
        if key.is_open and address == "0.0.0.0":
            say(
                "warning: this job's document carries no nonce of its own (LAUNCH_NONCE), so "
                f"whoever reaches port {cluster.port} of this host can end the job or join it"
            )
        Rendezvous(
            address, cluster.port, key, incarnation, len(cluster.hosts),
            self._decide_here, shared, say,
        )  # fmt: skip

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
