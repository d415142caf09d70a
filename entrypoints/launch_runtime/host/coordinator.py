"""The job as the first host sees it: who is there, when it begins, what failed first, who is done.

Every host, the first one too, sends the same kind of report again and again: its whole state, not
what changed. So a report that is lost or comes twice does no harm. The answer is the job's state.
No sockets and no clock in here; whoever calls brings the time.

A report: ``host`` (index), ``incarnation`` (a word that is new with every start of that agent),
``job``, ``hosts`` (how many it was told), ``world_size``, ``processes``, ``ready`` (nothing is left
to be installed), ``began`` (it has started ranks), ``failures`` (list), ``ended`` (its ranks have
ended), ``left`` (it knows the end and goes). Once its ranks have ended well, also ``evidence`` of
their training (rank -> records), until an answer says that it is here; where the strategy asks
for one, ``port``, which is free on that host; where hangs are looked for, ``still`` and ``stacks``
(host/stillness.py).
"""

from __future__ import annotations

import threading
from typing import Any, Callable, NamedTuple, Sequence

from launch_runtime import lines
from launch_runtime.failures import JOINING, LOST_HOST_CODE, TRAINING, Failure, from_fields
from launch_runtime.host.claims import Claims
from launch_runtime.host.cluster import Cluster
from launch_runtime.host.hang import Hangs
from launch_runtime.host.judgement import Judgement
from launch_runtime.host.settings import Settings


class _Member(NamedTuple):
    report: dict[str, Any]
    seen: float


class Coordinator:
    """Collects reports and decides. Safe to call from several threads.

    Args:
        cluster: The hosts.
        settings: The first host's.
        incarnation: The first agent's own.
        now: Monotonic seconds.
        say: Prints a line for people.
        on_news: Called from any thread when the job begins, ends or is decided to end.
    """

    def __init__(
        self,
        cluster: Cluster,
        settings: Settings,
        incarnation: str,
        now: float,
        say: Callable[[str], None],
        on_news: Callable[[], None],
    ):
        self._cluster, self._settings, self._incarnation = cluster, settings, incarnation
        self._started = now
        self._say, self._on_news = say, on_news
        self._lock = threading.Lock()
        self._members: dict[int, _Member] = {}
        self._claims = Claims(several=len(cluster.hosts) > 1)
        self._began = False
        self._told_contacts: list[list[Any]] = []
        self._is_second = False  # this agent was started again while the job ran
        self._verdict: Failure | None = None
        self._judgement = Judgement(settings)
        self._hangs = Hangs(cluster, settings, say)

    def report(self, report: dict[str, Any], now: float) -> dict[str, Any]:
        """Takes a host's report and gives the job's state.

        Returns:
            ``incarnation``, ``missing`` (names), ``preparing`` (names of hosts that are here and
            not ready), ``began``, ``verdict`` (a failure's fields or None), ``has_evidence`` (this
            host's is here), ``finished`` (all ranks of all hosts ended well, and trained together
            as far as can be seen) and then ``words`` on that, ``contacts`` (address and free port
            of each host, in their order; decided once, when the job begins), ``stacks`` (how often
            all hosts were asked for their ranks' stacks).

        Raises:
            KeyError, TypeError, ValueError: It is no report.
        """
        with self._lock:
            before = self._stage()
            self._take(report, now)
            self._decide(now)
            state = {
                "incarnation": self._incarnation,
                "missing": self._missing(now),
                "preparing": self._preparing(),
                "began": self._began,
                "verdict": self._verdict.fields() if self._verdict else None,
                "finished": self._finished(),
                "has_evidence": self._judgement.has(int(report["host"])),
                "words": self._judgement.words,
                "contacts": self._told_contacts,
                "stacks": self._hangs.asked,
            }
            news = self._stage() != before
        if news:
            self._on_news()
        return state

    def waiting_for(self, now: float, word: str, silence: float) -> list[str]:
        """The other hosts that have not reported ``word`` yet and were heard of lately.

        Of an agent that was started again while the job ran, all others: they are there, and would
        be left without a word. So would those that come late to a job that has failed before.

        Args:
            now: Monotonic seconds.
            word: ``ended`` or ``left``.
            silence: Seconds after which a host isn't waited for any more.
        """
        with self._lock:
            return [
                self._name(index)
                for index in range(len(self._cluster.hosts))
                if index != self._cluster.position and self._is_awaited(index, now, word, silence)
            ]

    def _is_awaited(self, index: int, now: float, word: str, silence: float) -> bool:
        member = self._members.get(index)
        if member is None:
            return self._is_second or self._may_come_late(now)
        return not member.report.get(word) and now - member.seen < silence

    def _may_come_late(self, now: float) -> bool:
        """Whether a host that was never here may yet come, and would wait for a first one that has
        ended: a service's hosts start apart, and another one may have failed before."""
        ends_early = self._verdict is not None and not self._verdict.stop and not self._began
        in_time = now - self._started <= self._settings.join_timeout
        return self._cluster.managed and ends_early and in_time

    def _take(self, report: dict[str, Any], now: float) -> None:
        index, incarnation = int(report["host"]), str(report["incarnation"])
        if report["job"] != self._settings.job:
            raise ValueError(
                "this is the rendezvous of job {!r}, not of {!r}".format(
                    self._settings.job, report["job"]
                )
            )
        if not 0 <= index < len(self._cluster.hosts):
            raise ValueError(f"host {index} of {len(self._cluster.hosts)}")
        known = self._members.get(index)
        if self._began and known and known.report["incarnation"] != incarnation:
            self._claims.add(restarted(self._cluster, index), now)
            return
        if not self._began and report["began"]:
            # It knows a first host that began the job. That was not this one.
            self._is_second = True
            self._claims.add(restarted(self._cluster, self._cluster.position), now)
        self._judgement.take(index, report.get("evidence"))
        own = {key: value for key, value in report.items() if key != "evidence"}
        self._members[index] = _Member(own, now)
        for fields in report["failures"]:
            self._claims.add(from_fields(fields), now)
        if known is None and len(self._cluster.hosts) > 1:
            here, hosts = len(self._members), len(self._cluster.hosts)
            self._say(f"{self._name(index)} is here, {here} of {hosts} hosts")

    def _decide(self, now: float) -> None:
        if self._verdict is None and self._all_ended_well():
            self._verdict = self._judgement.failure(self._name(0))
        if self._verdict is not None or self._finished():
            return
        if self._began:
            self._look_for_silence(now)
            reports = {index: member.report for index, member in self._members.items()}
            hung = self._hangs.look(reports, now)
            if hung:
                self._claims.add(hung, now)
        elif not self._claims:
            self._begin(now)
        self._verdict = self._claims.verdict(now, self._lost_meanwhile)

    def _lost_meanwhile(self, now: float) -> Failure | None:
        """The host that says nothing any more since a rank met what another rank's end causes."""
        for index, member in self._members.items():
            if member.seen < self._claims.since:
                return lost(self._cluster, index, now - member.seen)
        return None

    def _begin(self, now: float) -> None:
        missing = self._missing(now)
        if not missing:
            problem = self._disagreement()
            if problem:
                self._claims.add(Failure(self._name(0), problem, JOINING), now)
            # Hosts that are here may take their time: what they install is theirs to fail at.
            self._began = not problem and not self._preparing()
            if self._began:
                self._told_contacts = self._contacts()
        elif now - self._started > self._settings.join_timeout:
            self._claims.add(never_came(missing, self._settings.join_timeout), now)

    def _contacts(self) -> list[list[Any]]:
        """Where each host can be met; nowhere if the strategy asks for no ports."""
        ports = [int(member.report.get("port", 0)) for _, member in sorted(self._members.items())]
        if not all(ports):
            return []
        return [[host.address, port] for host, port in zip(self._cluster.hosts, ports)]

    def _disagreement(self) -> str:
        """What the hosts were told differently, or what does not make the promised world size."""
        for key, what in (
            ("world_size", "LAUNCH_WORLD_SIZE"),
            ("hosts", "number of hosts"),
            ("processes", "LAUNCH_PROCESSES"),
        ):
            values = {index: member.report[key] for index, member in self._members.items()}
            if len(set(values.values())) > 1:
                found = ", ".join(
                    f"{value} on {self._name(index)}" for index, value in sorted(values.items())
                )
                return f"{what} differs between hosts: {found}; expected the same on all"
        hosts, processes = len(self._members), self._settings.processes
        expected = self._settings.world_size
        if self._settings.instances not in (0, hosts):
            return "LAUNCH_INSTANCES promises {}, found {}".format(
                lines.count(self._settings.instances, "host"), hosts
            )
        ranks = hosts * processes
        if ranks != expected and not (self._settings.strategy.replicated and expected % ranks == 0):
            return "LAUNCH_WORLD_SIZE: expected {}, found {} ({} x {})".format(
                expected,
                ranks,
                lines.count(hosts, "host"),
                lines.count(processes, "rank"),
            )
        return ""

    def _look_for_silence(self, now: float) -> None:
        for index, member in self._members.items():
            gone = member.report.get("left")
            if not gone and now - member.seen > self._settings.host_timeout:
                self._claims.add(lost(self._cluster, index, now - member.seen), now)

    def _missing(self, now: float) -> list[str]:
        """Hosts that never came, or came and went before the job began."""
        if self._began:
            return []
        return [
            host.name
            for index, host in enumerate(self._cluster.hosts)
            if index not in self._members
            or now - self._members[index].seen > self._settings.host_timeout
        ]

    def _preparing(self) -> list[str]:
        return [
            self._name(index)
            for index, member in sorted(self._members.items())
            if not member.report.get("ready", True)
        ]

    def _stage(self) -> tuple[bool, Failure | None, bool]:
        return self._began, self._verdict, self._finished()

    def _finished(self) -> bool:
        """Whether the job is over, and well."""
        return self._all_ended_well() and self._judgement.is_good

    def _all_ended_well(self) -> bool:
        """Whether every host's ranks have ended, and none of them badly."""
        everybody = len(self._members) == len(self._cluster.hosts)
        ended = all(member.report["ended"] for member in self._members.values())
        return everybody and ended and not self._claims

    def _name(self, index: int) -> str:
        return self._cluster.hosts[index].name


def never_came(missing: Sequence[str], timeout: float) -> Failure:
    """The failure of a job whose hosts did not all come."""
    return Failure(
        missing[0],
        f"{lines.and_list(list(missing))} did not join within {timeout:g} s",
        JOINING,
    )


def lost(cluster: Cluster, index: int, silence: float) -> Failure:
    """The failure of a host that says nothing any more; ``silence`` in seconds."""
    what = f"was silent for {silence:.0f} s: its agent, its machine or the network to it is gone"
    return _lost_host(cluster, index, what)


def restarted(cluster: Cluster, index: int) -> Failure:
    """The failure of a host whose agent was started a second time in the same job."""
    return _lost_host(cluster, index, "was started again while the job ran; its ranks are lost")


def _lost_host(cluster: Cluster, index: int, what: str) -> Failure:
    name = cluster.hosts[index].name
    # The service that runs the hosts may answer a lost one with a new try of the whole job.
    code = LOST_HOST_CODE if cluster.managed else 1
    return Failure(name, f"{name} {what}", TRAINING, code=code)
