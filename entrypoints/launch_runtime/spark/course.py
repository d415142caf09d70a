"""The job as the driver sees it: which ranks are there, when they begin, what failed first.

Every rank sends the same kind of report again and again: its whole state, and the next piece of its
output. So a report that is lost or comes twice does no harm. No sockets and no clock in here.

A report: ``rank``, ``start`` (a word that is new with every start of that rank), ``size`` (the
world's, as the rank was told), ``host``, ``executor``, ``group`` (the ranks of one machine have
the same), ``local_rank``, ``gpus`` (the addresses that Spark gave), ``failures``, ``piece`` and
``text`` (whole tagged lines, and their number) and, once the rank has ended, ``result``.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict, deque
from typing import Any, Callable, NamedTuple

from launch_runtime import failures, lines
from launch_runtime.failures import JOINING, STARTING, TRAINING, Failure, from_fields
from launch_runtime.host.claims import Claims
from launch_runtime.host.settings import Settings

SILENT_SECONDS = 10.0  # after which a rank that has not ended is lost
TAIL_LINES = 20
START_FIX = "see the lines above; a cluster that starts Pythons slowly needs --limit start=TIME"
_OF_US = ("launch: failure: ", "launch: expected ", "launch: likely cause: ")


class _Member(NamedTuple):
    report: dict[str, Any]
    seen: float


class Course:
    """Collects the ranks' reports and decides. Safe to call from several threads.

    Args:
        settings: The job's.
        start_seconds: How long all ranks may take to come.
        pass_on: Takes a piece of a rank's output; False where it has to come again.
        say: Prints a line for people.

    Attributes:
        verdict: Why the job ends, once that is known.
    """

    def __init__(
        self,
        settings: Settings,
        start_seconds: float,
        pass_on: Callable[[bytes], bool],
        say: Callable[[str], None],
    ):
        self._settings, self._start_seconds = settings, start_seconds
        self._pass_on, self._say = pass_on, say
        self._lock = threading.RLock()
        self._members: dict[int, _Member] = {}
        self._taken: dict[int, int] = {}
        self._tails: dict[int, deque[str]] = {}
        self._claims = Claims(several=settings.ranks > 1)
        self._names: dict[int, str] = {}
        self._devices: dict[int, str] = {}  # of the rank's machine, as it is told them
        self._began_starting: float | None = None
        self.verdict: Failure | None = None

    @property
    def began(self) -> bool:
        """Whether all ranks are there and may start the script."""
        return bool(self._names)

    def report(self, report: dict[str, Any], now: float) -> dict[str, Any]:
        """Takes a rank's report and gives it the job's state.

        Returns:
            ``name`` (of the rank's host in messages, "" until all ranks are there), ``devices``
            (the job's GPUs on that machine, by local rank), ``verdict`` (a failure's fields or
            None), ``taken`` (the number of the last piece of output that was taken), ``done``
            (the rank's result is here).

        Raises:
            KeyError, TypeError, ValueError: It is no report.
        """
        with self._lock:
            rank = int(report["rank"])
            if not 0 <= rank < self._settings.ranks:
                raise ValueError(f"rank {rank} of {self._settings.ranks}")
            self._take(rank, report, now)
            self._decide(now)
            return {
                "name": self._names.get(rank, ""),
                "devices": self._devices.get(rank, ""),
                "verdict": self.verdict.fields() if self.verdict else None,
                "taken": self._taken.get(rank, 0),
                "done": report.get("result") is not None,
            }

    def look(self, now: float) -> Failure | None:
        """The verdict, where what has not come in meanwhile says something too. Goes through all
        ranks, as no report does: each rank sends two a second."""
        with self._lock:
            if self.verdict is None and self.began:
                self._look_for_silence(now)
            elif self.verdict is None:
                self._look_for_missing(now)
            self._decide(now)
            return self.verdict

    def starts(self, now: float) -> None:
        """From now on the ranks have their time to come."""
        with self._lock:
            self._began_starting = now

    def claim(self, failure: Failure, now: float) -> None:
        """A failure that the driver itself has seen; one that somebody asked for ends the job
        whatever else happens."""
        with self._lock:
            self._claims.add(failure, now)
            if failure.stop and self.verdict is None:
                self.verdict = failure
            self._decide(now)

    @property
    def results(self) -> dict[int, dict[str, Any]]:
        """What the ranks that have ended gave, by rank."""
        with self._lock:
            found = ((rank, one.report.get("result")) for rank, one in self._members.items())
            return {rank: result for rank, result in found if isinstance(result, dict)}

    @property
    def unfinished(self) -> list[int]:
        """The ranks that have not ended; first those that were heard of longest ago."""
        with self._lock:
            ended, heard = self.results, {rank: one.seen for rank, one in self._members.items()}
            left = [rank for rank in range(self._settings.ranks) if rank not in ended]
            return sorted(left, key=lambda rank: heard.get(rank, float("-inf")))

    def tail(self, rank: int | None) -> list[str]:
        """The last lines of a rank, without their tags."""
        with self._lock:
            return list(self._tails.get(-1 if rank is None else rank, ()))

    def place(self, rank: int) -> tuple[str, str]:
        """Host and executor of a rank, as far as they are known."""
        with self._lock:
            member = self._members.get(rank)
            executor = str(member.report["executor"]) if member else ""
            return self._host(rank), executor

    def _take(self, rank: int, report: dict[str, Any], now: float) -> None:
        known = self._members.get(rank)
        if known is not None and known.report["start"] != report["start"]:
            what = f"rank {rank} was started a second time, and none of it counts"
            self._claims.add(Failure(str(report["host"]), what, TRAINING, rank=rank), now)
            return
        text, piece = str(report.get("text", "")), int(report.get("piece", 0))
        if text and piece > self._taken.get(rank, 0) and self._pass_on(text.encode()):
            self._taken[rank] = piece
            self._keep(rank, text)
        kept = {name: value for name, value in report.items() if name != "text"}
        if known is not None and known.report.get("result") is not None:
            kept["result"] = known.report["result"]
        if known is None or report["failures"] != known.report["failures"]:
            for fields in report["failures"]:
                self._claims.add(from_fields(fields), now)
        self._members[rank] = _Member(kept, now)
        size = self._settings.ranks
        if int(report["size"]) != size:
            what = f"rank {rank}: expected world size {size}, found {report['size']}"
            self._claims.add(Failure(str(report["host"]), what, STARTING, rank=rank), now)

    def _keep(self, rank: int, text: str) -> None:
        tail = self._tails.setdefault(rank, deque(maxlen=TAIL_LINES))
        for line in text.splitlines():
            words = line.partition("] ")[2]
            if words.strip() and not words.startswith(_OF_US):
                tail.append(lines.shown(words))

    def _decide(self, now: float) -> None:
        if self.verdict is not None:
            return
        if not self.began and len(self._members) == self._settings.ranks and not self._claims:
            self._begin()
        self.verdict = self._claims.verdict(now, self._lost_meanwhile)

    def _begin(self) -> None:
        self._names = self._told_apart()
        self._devices = self._shared_out()
        self._tell_spread()

    def _look_for_missing(self, now: float) -> None:
        began = self._began_starting
        if began is None or now - began <= self._start_seconds:
            return
        missing = [rank for rank in range(self._settings.ranks) if rank not in self._members]
        if missing:
            what = f"{lines.ranks(missing)} did not start within {self._start_seconds:g} s"
            self._claims.add(Failure("the cluster", what, JOINING, fix=START_FIX), now)

    def _tell_spread(self) -> None:
        """Says how Horovod has spread the ranks, where that is not as they were asked for."""
        groups = Counter(str(member.report["group"]) for member in self._members.values())
        sizes = set(groups.values())
        if all(groups) and sizes != {self._settings.processes}:
            each = lines.count(min(sizes), "rank") if len(sizes) == 1 else "ranks unevenly"
            hosts, executors = len(groups), self._settings.instances
            self._say(
                f"{lines.count(executors, 'executor')} on {lines.count(hosts, 'machine')}: local "
                f"ranks are counted on the machine ({lines.count(hosts, 'host')} x {each})"
            )

    def _look_for_silence(self, now: float) -> None:
        for rank, member in self._members.items():
            if member.report.get("result") is None and now - member.seen > SILENT_SECONDS:
                self._claims.add(self.lost(rank, now), now)

    def _lost_meanwhile(self, now: float) -> Failure | None:
        """The rank that has fallen silent, or that has ended as if all were well, since another
        one met what a lost rank causes."""
        results = self.results
        for rank, member in self._members.items():
            if rank not in results and member.seen < self._claims.since:
                return self.lost(rank, now)
        for rank, result in results.items():
            if result.get("exit_code") == 0:
                what = f"rank {rank} ended with code 0 while the others still trained"
                return Failure(self._host(rank), what, TRAINING, rank=rank, exit_code=0)
        return None

    def lost(self, rank: int, now: float) -> Failure:
        """The failure of a rank of which nothing is heard any more."""
        silence = now - self._members[rank].seen if rank in self._members else 0.0
        what = (
            f"rank {rank} was silent for {silence:.0f} s: its executor, its machine or the "
            "network to it is gone"
        )
        return Failure(self._host(rank), what, failures.TRAINING, rank=rank)

    def _host(self, rank: int) -> str:
        member = self._members.get(rank)
        known = str(member.report["host"]) if member else "the cluster"
        return self._names.get(rank) or known

    def _told_apart(self) -> dict[int, str]:
        """Each rank's host, with its executor where several are there."""
        reports = {rank: member.report for rank, member in self._members.items()}
        executors: defaultdict[str, set[str]] = defaultdict(set)
        for one in reports.values():
            executors[str(one["host"])].add(str(one["executor"]))
        names = {}
        for rank, one in reports.items():
            host, several = str(one["host"]), len(executors[str(one["host"])]) > 1
            names[rank] = f"{host}.executor-{one['executor']}" if several else host
        return names

    def _shared_out(self) -> dict[int, str]:
        """The job's GPUs on each rank's machine, by local rank; "" where Spark has given none."""
        machines: defaultdict[Any, list[dict[str, Any]]] = defaultdict(list)
        for rank, member in self._members.items():
            machines[member.report["group"] or rank].append(member.report)
        devices = {}
        for key, reports in machines.items():
            reports.sort(key=lambda one: int(one["local_rank"]))
            devices[key] = ",".join(str(one["gpus"][0]) for one in reports if one["gpus"])
        return {rank: devices[one.report["group"] or rank] for rank, one in self._members.items()}
