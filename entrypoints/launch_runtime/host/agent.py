"""An agent's way through a job: join, start the ranks, watch, end them, leave.

What the bundle asks to be installed is installed while the agent joins: the first host knows then
that this one is here, and not ready.
"""

from __future__ import annotations

import signal
import time
from typing import Any, Sequence

from launch_runtime import failures, lines
from launch_runtime.failures import Failure
from launch_runtime.host import network, processes
from launch_runtime.host.cluster import Cluster
from launch_runtime.host.console import Console
from launch_runtime.host.inbox import Inbox
from launch_runtime.host.job import Job
from launch_runtime.host.local_ranks import LocalRanks
from launch_runtime.host.peers.signatures import Key
from launch_runtime.host.requirements import Requirements
from launch_runtime.host.settings import ABORT_GRACE_SECONDS, Settings
from launch_runtime.host.stillness import Stillness

BAD_REQUEST = 2  # exit code: nothing was started
_LOOK_SECONDS = 0.2  # how often the agent looks, where nothing wakes it earlier
FLUSH_SECONDS = 5.0
# How long a host that cannot start waits to say so to the first one. A service's hosts come
# minutes apart: there it waits as long as the first one would wait for it.
_REFUSAL_SECONDS = 10.0
_LAST_WORDS_SECONDS = 2.0  # and of one that failed, before the others hear that all is said
_DRAIN_SECONDS = 60.0  # what a reader of a job that went well gets to read its last lines


class HostAgent:
    """One host's agent.

    Args:
        cluster: The hosts.
        settings: This host's.
        console: Where lines go.
        key: The job's, for speaking with the other hosts.

    Attributes:
        verdict: Why the job ended, once it has; None where it ended well.

    Raises:
        PortError: This is the first host, and the rendezvous' port cannot be had.
    """

    def __init__(self, cluster: Cluster, settings: Settings, console: Console, key: Key):
        self._cluster, self._settings, self._console = cluster, settings, console
        self.verdict: Failure | None = None
        self._inbox = Inbox()
        self._ranks: LocalRanks | None = None
        self._requirements: Requirements | None = None
        self._stops = 0
        self._trouble = ""  # with this machine's name, which makes the ranks' start crash
        self._job = Job(cluster, settings, key, self._say, lambda: self._inbox.put("look"))

    def run(self, command: Sequence[str], source: str, requirements: str = "") -> int:
        """From the first report to the last; blocks as long as the job lives.

        Args:
            command: Of the ranks, after the interpreter.
            source: Their working folder.
            requirements: A file of packages to install for them first, or "".

        Returns:
            The exit code.
        """
        processes.adopt_orphans()
        self._inbox.listen()
        if requirements:
            self._requirements = Requirements(requirements, self._say, self._on_installed)
            self._job.tell(ready=False)
            self._requirements.start()
        self._job.start()
        verdict = self._join()
        if verdict is None:
            self._ranks = LocalRanks(self._cluster, self._settings, self._console, self._on_event)
            self._job.tell(began=True)
            self._check_own_name()
            packages = self._requirements.folder if self._requirements else ""
            started = self._ranks.start(
                command, source, self._job.meeting, packages, self._job.contacts
            )
            self._claim(started)
            verdict = self._watch(self._ranks)
        return self._leave(verdict)

    def refuse(self, problem: str) -> int:
        """Ends before any rank, and tells the first host so that nobody waits for this one.

        Returns:
            The exit code.
        """
        failure = Failure(self._cluster.own.name, problem, failures.JOINING, code=BAD_REQUEST)
        self.verdict = failure
        managed, first = self._cluster.managed, self._cluster.position == 0
        if managed and first:
            self._console.say(failure.line(self._settings.stamp))
        else:
            self._say(problem)
        # Before the first report, which would else let the job begin.
        self._job.claim(failure)
        self._job.start()
        patience = self._settings.join_timeout if managed else _REFUSAL_SECONDS
        self._job.deliver(patience, patient=True)
        self._console.flush(FLUSH_SECONDS)
        return BAD_REQUEST

    # -- the way -------------------------------------------------------------------------------

    def _join(self) -> Failure | None:
        """Blocks until all hosts are here; a failure where they never are."""
        reminder = time.monotonic() + self._settings.reminder
        while not self._job.began:
            self._wait()
            verdict = self._job.verdict()
            if verdict:
                return verdict
            if time.monotonic() > reminder:
                reminder += self._settings.reminder
                self._remind()
        return self._job.verdict()

    def _remind(self) -> None:
        """Says what this host waits for."""
        trouble = f" ({self._job.trouble})" if self._job.trouble else ""
        if self._requirements is not None and self._requirements.is_alive():
            self._say(f"still installing: {self._requirements.doing}")
        if self._job.missing:
            self._say(f"waiting for {lines.and_list(self._job.missing)}{trouble}")
        elif self._job.preparing:
            self._say(f"waiting for {lines.and_list(self._job.preparing)} to install packages")

    def _check_own_name(self) -> None:
        elsewhere = len(self._cluster.hosts) > 1
        elsewhere = elsewhere and not network.is_loopback(self._cluster.first.address)
        if self._settings.world_size > 1:
            self._trouble = self._settings.strategy.trouble(elsewhere)
        if self._trouble:
            self._say(f"warning: {self._trouble}; add a line for it to /etc/hosts")

    def _watch(self, ranks: LocalRanks) -> Failure | None:
        """Blocks until the job's end is known; None for a good one."""
        warning = time.monotonic() + self._settings.init_warning
        told = False
        stillness = Stillness(
            lambda: ranks.alive,
            self._settings.hang_after,
            self._settings.strategy.waits,
            self._job.tell,
        )
        while not self._job.finished:
            self._wait()
            self._look(ranks)
            verdict = self._job.verdict()
            if verdict:
                return verdict
            if not told and ranks.ended_well and not ranks.ending:
                told = True
                self._job.tell_ended(ranks.evidence)
            if time.monotonic() > warning:
                warning = float("inf")
                self._warn(ranks.uninitialised)
            stillness.look(self._job.asked_for_stacks)
            ranks.kill_overdue()
        return None

    def _warn(self, late: list[int]) -> None:
        size = self._settings.world_size
        if late and size > 1:
            words = self._settings.strategy.words
            self._say(words.unjoined(late, self._settings.init_warning, size))

    def _leave(self, verdict: Failure | None) -> int:
        """Ends the ranks, says what there is to say, and lets the first host be the last."""
        self.verdict = verdict
        if self._ranks is not None:
            self._end(self._ranks, verdict)
        # Whoever has left may be killed: a service does so once the first host has ended.
        self._console.flush(_LAST_WORDS_SECONDS if _hurries(verdict) else _DRAIN_SECONDS)
        self._job.leave(verdict)
        if verdict and self._job.speaks_of(verdict):
            self._console.say(verdict.line(self._settings.stamp))
            if verdict.fix:
                self._say(f"fix: {verdict.fix}")
        elif verdict:
            self._say(verdict.sentence())
        if self._requirements is not None:
            self._requirements.stop()
        self._job.see_off(verdict)
        self._console.flush(FLUSH_SECONDS)
        return verdict.code if verdict else 0

    def _end(self, ranks: LocalRanks, verdict: Failure | None) -> None:
        if not _hurries(verdict):
            self._console.open()  # whatever was held back: nothing speaks against it
        if verdict is None:
            if self._settings.world_size == 1 and ranks.said_nothing:
                # The script ended in a way in which its guard could not say so.
                self._prove(self._settings.strategy.words.alone())
        elif verdict.stop:
            self._console.open()
            number = signal.SIGINT if verdict.signal == "SIGINT" else signal.SIGTERM
            ranks.end(number, self._settings.stop_grace)
        elif not verdict.judged:  # else all ranks ended well, and may say all they have to
            here = verdict.host == self._cluster.own.name
            self._console.decide(verdict.rank if here else None)
            ranks.end(signal.SIGTERM, ABORT_GRACE_SECONDS)
        while ranks.running and not ranks.given_up:
            self._wait()
            ranks.look()
            ranks.kill_overdue(now=self._stops > 1)
        ranks.drain(2.0 if _hurries(verdict) else _DRAIN_SECONDS)
        if verdict is None and ranks.proof and self._job.words:
            self._prove(f"{ranks.proof}; {self._job.words}")

    def _prove(self, text: str) -> None:
        """Prints the proof of the job as a line of rank 0."""
        self._console.rank_lines(0, [lines.proof(text, self._settings.stamp).encode()])

    # -- what happens --------------------------------------------------------------------------

    def _look(self, ranks: LocalRanks) -> None:
        judgements = ranks.look()
        self._wait(0.0)
        for judge in judgements:
            if not ranks.ending:
                self._claim(judge())

    def _claim(self, failure: Failure | None) -> None:
        if failure is None or self._ranks is None:
            return
        if self._trouble and failure.signal and failure.phase == failures.STARTING:
            reason = f"{failure.reason}; likely cause: {self._trouble}"
            failure = failure._replace(reason=reason)
        self._console.hold()
        self._job.claim(failure)
        if not failure.consequence:
            # Whoever was first: this job ends.
            self._ranks.end(signal.SIGTERM, ABORT_GRACE_SECONDS)

    def _stop(self, reason: str, name: str, code: int) -> None:
        self._stops += 1
        if self._stops == 1:
            phase = self._ranks.phase if self._ranks else failures.JOINING
            host = self._cluster.own.name
            self._job.claim(Failure(host, reason, phase, signal=name, stop=True, code=code))

    def _on_event(self, number: int, event: dict[str, Any]) -> None:
        self._inbox.put("rank", number, event)

    def _on_installed(self, problem: str) -> None:
        self._inbox.put("installed", problem)

    def _wait(self, seconds: float = _LOOK_SECONDS) -> None:
        """Blocks until something happens, a fifth of a second at most, and takes it in."""
        event = self._inbox.take(seconds)
        while event is not None:
            self._take(event)
            event = self._inbox.take()

    def _take(self, event: tuple[Any, ...]) -> None:
        if event[0] == "rank" and self._ranks is not None:
            failure = self._ranks.take(event[1], event[2])
            if not self._ranks.ending:
                self._claim(failure)
        elif event[0] == "stop":
            name = failures.signal_name(event[1])
            self._stop(f"stopped by {name}", name, 128 + event[1])
        elif event[0] == "installed" and event[1]:
            self._job.claim(Failure(self._cluster.own.name, event[1], failures.STARTING))
        elif event[0] == "installed":
            self._job.tell(ready=True)
        elif event[0] == "orphaned":
            self._stop("stopped: whoever started this agent is gone", "SIGTERM", 143)

    def _say(self, text: str) -> None:
        self._console.say(lines.message(text))


def _hurries(verdict: Failure | None) -> bool:
    """Whether ranks are ended before they have said all; else the reader gets its time."""
    return verdict is not None and not verdict.judged
