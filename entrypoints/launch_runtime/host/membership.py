"""This host's part of the conversation with the first one: reports out, the job's state in."""

from __future__ import annotations

import threading
import time
from typing import Any, Callable

from launch_runtime.failures import Failure, from_fields
from launch_runtime.host.cluster import Cluster
from launch_runtime.host.coordinator import lost, never_came, restarted
from launch_runtime.host.held_port import HeldPort
from launch_runtime.host.settings import BEAT_SECONDS, IDLE_BEAT_SECONDS, Settings
from launch_runtime.strategies.strategy import Contact

# After this a host with a failure of its own stops waiting for the first host's word.
UNANSWERED_SECONDS = 3.0
# And of a first host that was never heard of, once its machine has refused to be connected to for
# so long: it is up, and no agent is there, so it has ended or is far from its start.
REFUSED_SECONDS = 60.0

Exchange = Callable[["dict[str, Any]"], "dict[str, Any]"]  # a report for the job's state


class Membership:
    """Reports this host's state every half second, and at once when it changes.

    Args:
        cluster: The hosts.
        settings: This host's.
        incarnation: A word that no other start of an agent has.
        exchange: Sends a report; blocks for seconds at most, and raises OSError or ValueError when
            there is no answer.
        wake: Called from another thread when the answer was news.
    """

    def __init__(
        self,
        cluster: Cluster,
        settings: Settings,
        incarnation: str,
        exchange: Exchange,
        wake: Callable[[], None],
    ):
        self._cluster, self._settings = cluster, settings
        self._exchange, self._wake_main = exchange, wake
        self._lock = threading.Lock()
        self._report: dict[str, Any] = {
            "host": cluster.position,
            "incarnation": incarnation,
            "job": settings.job,
            "hosts": len(cluster.hosts),
            "world_size": settings.world_size,
            "processes": settings.processes,
            "ready": True,
            "began": False,
            "failures": [],
            "ended": False,
            "left": False,
        }
        self._port = HeldPort() if settings.strategy.wants_port else None
        if self._port is not None:
            self._report["port"] = self._port.number
        # Of this host's ranks, once they have ended. It is large, and sent until it has arrived.
        self._evidence: dict[int, list[dict[str, Any]]] | None = None
        self._own: list[Failure] = []
        self._state: dict[str, Any] = {}
        self._verdict: Failure | None = None
        self._started = self._answered = time.monotonic()
        self._claimed: float | None = None
        self._refused: float | None = None  # since when every report was
        self._delivered = False
        self.trouble = ""  # why the last report got no answer
        self._news = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def start(self) -> None:
        """Begins to report."""
        self._thread.start()

    @property
    def began(self) -> bool:
        """All hosts are here and agree: ranks may start."""
        return bool(self._state.get("began"))

    @property
    def finished(self) -> bool:
        """All ranks of all hosts have ended well."""
        return bool(self._state.get("finished"))

    @property
    def words(self) -> str:
        """Of a job that has finished: what its ranks' evidence says, for the proof; or ""."""
        return str(self._state.get("words") or "")

    @property
    def contacts(self) -> list[Contact]:
        """Where the hosts can be met, once the job has begun, if the strategy asks for that."""
        return [Contact(str(place), int(port)) for place, port in self._state.get("contacts", [])]

    @property
    def missing(self) -> list[str]:
        """The hosts that are waited for; the first one alone where it does not answer."""
        if not self._state or self.trouble:
            return [self._cluster.first.name]
        return list(self._state["missing"])

    @property
    def preparing(self) -> list[str]:
        """The hosts that are here and not ready yet."""
        return list(self._state.get("preparing", []))

    @property
    def asked_for_stacks(self) -> int:
        """How often the first host has asked for the stacks of all ranks."""
        return int(self._state.get("stacks", 0))

    @property
    def decided_alone(self) -> bool:
        """Whether the verdict is this host's own, because the first one did not answer."""
        return self._verdict is not None and not self._state.get("verdict")

    def tell(self, **changes: object) -> None:
        """Changes this host's state (``ready``, ``began``, ``ended``, ``left``, ``still``,
        ``stacks``) and reports it now."""
        with self._lock:
            self._report.update(changes)
            self._delivered = False
        self._news.set()

    def tell_ended(self, evidence: dict[int, list[dict[str, Any]]]) -> None:
        """This host's ranks have ended well, with this evidence of their training."""
        with self._lock:
            self._evidence = evidence
        self.tell(ended=True)

    def claim(self, failure: Failure) -> None:
        """Reports a failure of this host. The verdict may become another one, unless somebody
        asked for the end."""
        with self._lock:
            self._own.append(failure)
            self._claimed = self._claimed or time.monotonic()
            if failure.stop:
                self._decide_alone(failure)
            else:
                self._report["failures"] = [*self._report["failures"], failure.fields()]
        self._news.set()

    def verdict(self) -> Failure | None:
        """Why the job ends, once that is known; the same on every host that hears the first."""
        with self._lock:
            if self._verdict is None and self._state.get("verdict"):
                self._verdict = from_fields(self._state["verdict"])
            if self._verdict is None:
                self._decide_alone(self._own_view(time.monotonic()))
            return self._verdict

    def deliver(self, seconds: float, patient: bool = False) -> None:
        """Tells the first host that this one knows the end; blocks for up to ``seconds``.

        A first host that was never heard of is waited for only if ``patient``, and no longer once
        it has refused every connection for a minute; one that was there and is gone has heard, or
        will hear nothing any more.
        """
        self.tell(ended=True, left=True)
        deadline = time.monotonic() + seconds
        while not self._delivered and time.monotonic() < deadline:
            if self.trouble and self._is_in_vain(patient):
                break
            time.sleep(0.02)
        self._closed = True
        self._news.set()

    def _is_in_vain(self, patient: bool) -> bool:
        if not self._state:
            return not patient or self._is_gone(time.monotonic())
        return time.monotonic() - self._answered > UNANSWERED_SECONDS

    def _is_gone(self, now: float) -> bool:
        """Whether this host has failed, and will not be heard by a first one that it never saw."""
        refused = self._refused is not None and now - self._refused > REFUSED_SECONDS
        return refused and self._claimed is not None and now - self._claimed > REFUSED_SECONDS

    def look(self) -> None:
        """Reports again now."""
        self._news.set()

    def _beat(self) -> None:
        while not self._closed:
            with self._lock:
                report = dict(self._report)
                if self._evidence is not None and not self._state.get("has_evidence"):
                    report["evidence"] = self._evidence
            try:
                state = self._exchange(report)
            except (OSError, ValueError) as error:
                self.trouble = str(error) or type(error).__name__
                refused = isinstance(error, ConnectionRefusedError)
                self._refused = (self._refused or time.monotonic()) if refused else None
            else:
                self._take(state, report)
            busy = report["began"] and not report["ended"]
            self._news.wait(BEAT_SECONDS if busy else IDLE_BEAT_SECONDS)
            self._news.clear()

    def _take(self, state: dict[str, Any], report: dict[str, Any]) -> None:
        with self._lock:
            before = (self.began, self.finished, self._state.get("verdict"))
            self._answered, self.trouble, self._refused = time.monotonic(), "", None
            if self.began and state["incarnation"] != self._state["incarnation"]:
                # Another agent answers in the first host's place; it knows nothing of this job.
                self._decide_alone(restarted(self._cluster, 0))
            self._state = state
            report.pop("evidence", None)
            self._delivered = report == self._report
            news = before != (self.began, self.finished, state.get("verdict"))
        if news:
            self._wake_main()

    def _decide_alone(self, failure: Failure | None) -> None:
        if failure is None or self._verdict is not None:
            return
        self._verdict = failure
        # Should the first host hear of this one again, it must not take its end for a success.
        self._report["failures"] = [*self._report["failures"], failure.fields()]

    def _own_view(self, now: float) -> Failure | None:
        """Why this host gives up on the first one, if it does."""
        first, limit = self._cluster.first, self._settings.join_timeout
        if not self._state:
            if now - self._started <= limit and not self._is_gone(now):
                # A failure of its own, too, is kept until the first host has come to hear it.
                return None
            failure = never_came([first.name], limit)
            where = f"{first.address}:{self._cluster.port}"
            failure = failure._replace(reason=f"{failure.reason} ({where}: {self.trouble})")
            return self._own[0] if self._own else failure
        silence = now - self._answered
        if self._claimed and min(silence, now - self._claimed) > UNANSWERED_SECONDS:
            cause = next((own for own in self._own if not own.consequence), None)
            return cause or lost(self._cluster, 0, silence)
        if silence > self._settings.host_timeout:
            return lost(self._cluster, 0, silence)
        return None
