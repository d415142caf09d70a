"""A rank's process in an executor: starts the guard, speaks with the driver, ends with either.

Between the executor and the guard, as the agent is between a host and its guards elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections import deque
from typing import Any, Mapping, Sequence

from launch_runtime import environment as env
from launch_runtime import failures, lines
from launch_runtime.failures import Failure
from launch_runtime.host import processes
from launch_runtime.host import settings as host_settings
from launch_runtime.host.console import Console
from launch_runtime.host.inbox import Inbox
from launch_runtime.host.local_ranks import HOST_EVIDENCE_BYTES, RANK_EVIDENCE_BYTES
from launch_runtime.host.ranks import Rank
from launch_runtime.host.settings import ABORT_GRACE_SECONDS, Settings
from launch_runtime.spark import rank_environment
from launch_runtime.spark.course import TAIL_LINES
from launch_runtime.spark.link import Link
from launch_runtime.spark.rank_environment import Place
from launch_runtime.spark.where import executor_id, executor_process
from launch_runtime.spark.worker import Worker

_LOOK_SECONDS = 0.2
_HURRIED_SECONDS, _LAST_LINES_SECONDS = 3.0, 60.0  # to hand on what is left to be said


def run_horovod(payload: Mapping[str, Any], entrypoints: str) -> dict[str, Any]:
    """A rank that ``horovod.spark.run`` has started; see :func:`run`."""
    from horovod.spark.task import get_available_devices

    names = ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE")
    rank, size, local_rank, local_size = (int(os.environ["HOROVOD_" + name]) for name in names)
    place = Place(rank, size, local_rank, local_size, os.environ["HOROVOD_HOSTNAME"])
    return run(place, payload, entrypoints, list(get_available_devices()))


def run(
    place: Place, payload: Mapping[str, Any], entrypoints: str, gpus: Sequence[str] = ()
) -> dict[str, Any]:
    """Runs a rank; blocks until it has ended, whether well or not, or the driver is gone.

    Args:
        place: The rank's. The variables of its place stand in this process's environment.
        payload: From the driver: ``contact``, ``arguments``, ``stamp`` and ``gpus`` (that the job
            has in each executor).
        entrypoints: The folder of guard.py.
        gpus: The addresses that Spark has given this rank's task.

    Returns:
        ``stamp``, ``rank``, ``host``, ``executor``, ``exit_code`` (None where it never started),
        ``proof``, ``evidence``, ``failure`` (fields, or None) and ``unsaid`` (the last lines of
        what it wrote after another rank's failure).
    """
    return RankHost(place, payload, entrypoints, gpus).run()


class RankHost:
    """See :func:`run`."""

    def __init__(
        self, place: Place, payload: Mapping[str, Any], entrypoints: str, gpus: Sequence[str]
    ):
        self._place, self._payload, self._entrypoints = place, payload, entrypoints
        self._gpus = [str(address) for address in gpus] if payload["gpus"] else None
        self._stamp = str(payload["stamp"])
        self._host, self._executor = _word(socket.gethostname()), executor_id()
        self._executor_process = executor_process()
        self._worker = Worker()
        self._inbox = Inbox()
        known = {
            "size": place.size,
            "host": self._host,
            "executor": self._executor,
            "group": place.group,
            "local_rank": place.local_rank,
            "gpus": self._gpus or [],
        }
        self._link = Link(payload["contact"], place.rank, known, lambda: self._inbox.put("look"))
        self._console: Console | None = None
        self._unsaid: deque[bytes] = deque(maxlen=TAIL_LINES)
        self._rank: Rank | None = None
        self._failure: Failure | None = None
        self._kill_at: float | None = None
        self._warn_at = float("inf")
        self._warning = ""  # what is said then of a rank that has not joined the others

    def run(self) -> dict[str, Any]:
        """From the first report to the last."""
        self._inbox.listen()
        processes.adopt_orphans()
        self._link.start()
        while not self._link.state.name and not self._is_over():
            self._wait()
        if self._link.state.name and not self._is_over():
            self._start()
            while self._rank is not None and not self._has_ended(self._rank):
                self._wait()
                self._look(self._rank)
        return self._leave()

    def _start(self) -> None:
        host = self._link.state.name
        self._console = console = Console(host, self._link.descriptor, self._unsaid.append)
        try:
            settings = host_settings.read(os.environ, managed=False, stamp=self._stamp)
            source = env.source_folder({}, self._entrypoints)
            rank = Rank(
                self._place.rank, host, self._place.size, self._stamp, settings.strategy.words
            )
            command = [os.path.join(self._entrypoints, "guard.py"), *self._payload["arguments"]]
            environment = rank_environment.of_guard(
                os.environ, self._place, host, self._gpus, self._link.state.devices
            )
            rank.start(command, source, environment, console, "", self._on_event)
            self._rank = rank
            self._warn_later(settings)
        except (OSError, env.SettingError) as error:
            reason = f"rank {self._place.rank} cannot be started: {error}"
            self._claim(Failure(host, reason, failures.STARTING, rank=self._place.rank))

    def _warn_later(self, settings: Settings) -> None:
        size, words = self._place.size, settings.strategy.words
        if size > 1:
            self._warn_at = time.monotonic() + settings.init_warning
            self._warning = words.unjoined([self._place.rank], settings.init_warning, size)

    # -- what happens --------------------------------------------------------------------------

    def _look(self, rank: Rank) -> None:
        # First: Horovod ends by SIGTERM what is left below a worker that is gone.
        if self._worker.is_gone and self._kill_at is None:
            self._claim(self._without_worker(self._has_lost_executor()))
        rank.look_for_proof()
        status = rank.poll()
        if status is not None:
            rank.read_status()
            rank.look_for_proof()
            self._wait(0.0)
            if self._kill_at is None:
                self._claim(rank.judge(status))
        processes.reap_orphans({rank.pid})
        if time.monotonic() > self._warn_at and self._console is not None:
            self._warn_at = float("inf")
            if status is None and not rank.initialised:
                self._console.say(lines.message(self._warning))
        verdict = self._link.state.verdict
        if self._link.gone:
            self._end(rank, signal.SIGKILL)
        elif verdict is not None and verdict.stop:
            self._open()
            self._end(rank, signal.SIGINT if verdict.signal == "SIGINT" else signal.SIGTERM)
        elif verdict is not None:
            self._decide(verdict)
            self._end(rank, signal.SIGTERM)
        if self._kill_at is not None and time.monotonic() > self._kill_at:
            rank.signal(signal.SIGKILL)

    def _without_worker(self, executor_is_gone: bool) -> Failure:
        rank = self._place.rank
        name = f"executor {self._executor}" if self._executor else "its executor"
        what = (
            f"rank {rank} lost {name}: it was ended by hand, by the cluster, or by the kernel when "
            "memory ran out"
        )
        if not executor_is_gone:
            what = f"rank {rank} lost its task on {name}: Spark has ended it, or it was killed"
        # Where an executor is lost with all that ran in it, Spark ends the tasks of the others.
        return Failure(
            self._name, what, failures.TRAINING, rank=rank, consequence=not executor_is_gone
        )

    def _signalled(self, number: int) -> Failure:
        # PySpark's daemon sends SIGHUP to its whole group when the executor above it is gone; ranks
        # in sessions of their own get SIGTERM then, from Horovod or torchrun.
        is_gone = number == signal.SIGHUP or self._has_lost_executor()
        if is_gone or self._worker.is_gone:
            return self._without_worker(is_gone)
        rank, name = self._place.rank, failures.signal_name(number)
        what = f"rank {rank} was ended by {name} from its executor"
        return Failure(
            self._name, what, failures.TRAINING, rank=rank, signal=name, consequence=True
        )

    def _has_lost_executor(self) -> bool:
        # Asked of the executor itself: what lies between may be gone while it lives, as the worker
        # of a task that Spark has ended.
        return bool(self._executor) and executor_id(self._executor_process) != self._executor

    def _has_ended(self, rank: Rank) -> bool:
        """Whether the rank has, and whose fault it is is known where it went badly."""
        if rank.poll() is None:
            return False
        return rank.failure is None or self._is_over()

    def _is_over(self) -> bool:
        stopped = self._failure is not None and self._rank is None
        return stopped or self._link.state.verdict is not None or self._link.gone

    def _claim(self, failure: Failure | None) -> None:
        if failure is None or self._failure is not None:
            return
        self._failure = failure
        if self._console is not None:
            self._console.hold()
        self._link.claim(failure)
        if self._rank is not None and not failure.consequence:
            self._end(self._rank, signal.SIGTERM)

    def _end(self, rank: Rank, number: int) -> None:
        if self._kill_at is None:
            grace = 0.0 if number == signal.SIGKILL else ABORT_GRACE_SECONDS
            self._kill_at = time.monotonic() + grace
            rank.signal(number)

    def _decide(self, verdict: Failure) -> None:
        if self._console is not None:
            self._console.decide(verdict.rank if verdict.rank == self._place.rank else None)

    def _open(self) -> None:
        if self._console is not None:
            self._console.open()

    def _on_event(self, number: int, event: dict[str, Any]) -> None:
        self._inbox.put("rank", event)

    def _wait(self, seconds: float = _LOOK_SECONDS) -> None:
        """Blocks until something happens, a fifth of a second at most, and takes it in."""
        event = self._inbox.take(seconds)
        while event is not None:
            if event[0] == "rank" and self._rank is not None:
                # Else no guard's word: the script wrote to a descriptor that is not its own.
                with contextlib.suppress(KeyError, TypeError, ValueError):
                    self._claim(self._rank.take(event[1]))
            elif event[0] == "stop":
                self._claim(self._signalled(event[1]))
            event = self._inbox.take()

    # -- the end -------------------------------------------------------------------------------

    def _leave(self) -> dict[str, Any]:
        verdict = self._link.state.verdict
        badly = verdict is not None or self._failure is not None or self._link.gone
        seconds = _HURRIED_SECONDS if badly else _LAST_LINES_SECONDS
        if self._rank is not None:
            processes.end_descendants(2.0)
            self._rank.drain(2.0 if badly else seconds)
        if self._console is not None:
            if verdict is not None and not verdict.stop:
                self._decide(verdict)
            else:
                self._console.open()
            self._console.flush(seconds)
        result = self._result()
        self._link.finish(result, seconds)
        if self._link.gone:
            raise SystemExit(lines.message(f"{self._link.why_gone}; this rank has ended"))
        return result

    def _result(self) -> dict[str, Any]:
        rank, found = self._rank, self._failure
        status = rank.poll() if rank is not None else None
        if found is not None and found.exit_code is not None:
            status = found.exit_code  # as it ended by itself; it may have been killed since
        limit = min(RANK_EVIDENCE_BYTES, HOST_EVIDENCE_BYTES // self._place.size)
        return {
            "stamp": self._stamp,
            "rank": self._place.rank,
            "host": self._name,
            "executor": self._executor,
            "exit_code": 128 - status if status is not None and status < 0 else status,
            "proof": rank.proof if rank is not None else "",
            "evidence": rank.evidence(limit) if rank is not None else [],
            "failure": found.fields() if found is not None else None,
            "unsaid": [lines.shown(line.decode("utf-8", "replace")) for line in self._unsaid],
        }

    @property
    def _name(self) -> str:
        return self._link.state.name or self._host


def _word(name: str) -> str:
    """A host's name as it may stand in a tag."""
    return "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name)
