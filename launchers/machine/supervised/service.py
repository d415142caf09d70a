"""Jobs that a supervisor of this machine owns: started, followed, ended."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from launchers.core.catalogue import RULES
from launchers.core.model.jobs import (
    STOPPING,
    JobDefinition,
    JobHandle,
    JobStatus,
    Listener,
    LogLine,
)
from launchers.core.model.problems import EXIT_BAD_REQUEST, LaunchError, NameTakenError
from launchers.core.output.lines import JobWatch
from launchers.core.paths import unwritable, writing
from launchers.core.planning.plan import Account, Plan
from launchers.core.records.ledger import Ledger
from launchers.core.roles import SILENT, Service
from launchers.core.source.bundle import SourceBundle
from launchers.machine import processes
from launchers.machine.supervised import elsewhere, log_file, starting, tail
from launchers.machine.supervised.folder import (
    JobFolder,
    output_root,
    read_object,
    reading,
    write_private,
)
from launchers.machine.supervised.kept import folder_of, require_folder, with_result
from launchers.machine.supervised.preflight import ELSEWHERE
from launchers.machine.supervised.settled import settled

RESERVE_BYTES = 64 * 1024
TAIL_BYTES = 4 << 20  # of a job's log, in which its newest lines are looked for
_START_SECONDS = 30.0


class SupervisedService(Service):
    """Starts a supervisor for each job, and reads what that writes.

    A job outlives this object: its supervisor is a process of its own, and the ledger and the
    job's folder are all that a later `launch` needs to find it.

    Attributes:
        provider: The name under which the ledger holds the jobs.
        supervisor: Dotted path of the module that runs one (``python -m``), with the job's folder
            as its argument.
    """

    provider: ClassVar[str]
    supervisor: ClassVar[str]
    preflight_exit = EXIT_BAD_REQUEST

    def __init__(self, listener: Listener = SILENT):
        super().__init__(listener)
        self._lifelines: dict[str, int] = {}

    @abstractmethod
    def fill(self, folder: Path, definition: JobDefinition, bundle: SourceBundle) -> None:
        """Write what the job needs in its new folder besides its definition and logs.

        Raises:
            OSError: It cannot be written.
            LaunchError: The source is no longer what was scanned.
        """

    @abstractmethod
    def world_size_of(self, document: Mapping[str, Any]) -> int:
        """The ranks of a job's document."""

    def hands_on_input(self, definition: JobDefinition) -> bool:
        """Whether the job reads this process's standard input."""
        return False

    def resolve(self, plan: Plan) -> Account:
        """Nothing here is known to an account alone."""
        return plan.account

    def submit(self, definition: JobDefinition, bundle: SourceBundle) -> JobHandle:
        """Start the supervisor. The ledger holds the job before this is called.

        Unless :meth:`detach` was called with the handle, the job ends with this process.

        Raises:
            NameTakenError: The job's folder is there already, and another job's.
            LaunchError: The job's folder cannot be written, or the supervisor did not start.
        """
        folder = JobFolder(Path(definition.document["folder"]))
        with writing(folder.path, ELSEWHERE):
            folder.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                folder.path.mkdir(mode=0o700)  # output and results are its owner's alone
            except FileExistsError as error:
                raise NameTakenError(unwritable(folder.path, error, ELSEWHERE)) from None
        try:
            folder.logs.mkdir()
            self.fill(folder.path, definition, bundle)
            write_private(folder.definition, definition.text)
            folder.reserve.write_bytes(b"\0" * RESERVE_BYTES)
        except OSError as error:
            shutil.rmtree(folder.path, ignore_errors=True)
            raise LaunchError(unwritable(folder.path, error, ELSEWHERE)) from None
        except BaseException:  # the source changed, or Ctrl-C while it was packed
            shutil.rmtree(folder.path, ignore_errors=True)
            raise
        return self._start(definition, folder)

    def _start(self, definition: JobDefinition, folder: JobFolder) -> JobHandle:
        name = definition.name
        # A rank that gets it reads it itself: nothing is copied, and nothing here waits for it.
        hand_on = self.hands_on_input(definition)
        read_end, write_end = os.pipe()
        if not self._lifelines:
            atexit.register(self._let_go)
        self._lifelines[name] = write_end
        try:
            process = starting.supervisor(self.supervisor, name, folder, read_end, hand_on)
        except LaunchError:
            os.close(self._lifelines.pop(name))
            shutil.rmtree(folder.path, ignore_errors=True)
            raise
        finally:
            os.close(read_end)
        details = {
            "folder": str(folder.path),
            "supervisor": processes.identity(process.pid),
            "host": elsewhere.here(),
            "strategy": definition.strategy,
        }
        handle = JobHandle(self.provider, name, details)
        entry = Ledger().get(self.provider, name)
        if entry:  # to which the supervisor may add something at the same time
            for key, value in details.items():
                Ledger().note(entry, key, value)
        return handle

    def detach(self, handle: JobHandle) -> None:
        """Let the job go on after this process. Safe to repeat."""
        write_end = self._lifelines.pop(handle.name, None)
        if write_end is not None:
            os.write(write_end, b"detach\n")
            os.close(write_end)

    def name_exists(self, plan: Plan, name: str) -> bool:
        """Whether the folder that the job would have is there already."""
        return os.path.lexists(output_root(plan.job.output_path) / name)

    def _let_go(self) -> None:
        """This process ends in order: what it owns and has not been told to end yet, does now."""
        for write_end in self._lifelines.values():
            with contextlib.suppress(OSError):  # it has ended
                os.write(write_end, b"stop\n")

    def describe(self, handle: JobHandle) -> JobStatus:
        """What the ledger says, after a look at whether the supervisor still lives."""
        ledger = Ledger()
        entry = ledger.get(self.provider, handle.name)
        if entry is None:
            raise LaunchError(RULES["job-unknown"].at("JOB", handle.name, "a job of `launch list`"))
        if entry.final:
            return JobStatus(entry.state, entry.reason, entry.proof, with_result(entry.details))
        supervisor = entry.details.get("supervisor", "")
        starting = not supervisor and time.time() - entry.created < _START_SECONDS
        if not starting and not processes.is_alive(supervisor):
            # The supervisor writes its result before it ends: look again before calling it lost.
            entry = settled(ledger.get(self.provider, handle.name) or entry, ledger)
        return JobStatus(entry.state, entry.reason, entry.proof, with_result(entry.details))

    def logs(
        self,
        handle: JobHandle,
        since: float = 0.0,
        follow: bool = False,
        rank: int | None = None,
        watch: JobWatch | None = None,
    ) -> Iterator[LogLine]:
        """The job's lines. A byte that is no UTF-8 is a lone surrogate in the text (PEP 383).

        Raises:
            LaunchError: The job has no such rank.
        """
        lines: Iterator[LogLine]
        if rank is None:
            lines = (line for line in self.job_lines(handle, follow) if line.time >= since)
        else:
            lines = self.rank_lines(handle, rank, follow, since)
        for line in lines:
            if watch is not None:
                watch.see(line)
            yield line

    def job_lines(self, handle: JobHandle, follow: bool) -> Iterator[LogLine]:
        """Every line of ``job.log``. Blocks while it follows."""
        return map(log_file.timed, self.lines_of(folder_of(handle).job_log, handle, follow))

    def rank_lines(
        self, handle: JobHandle, rank: int, follow: bool, since: float
    ) -> Iterator[LogLine]:
        """One rank's lines of ``job.log``. Blocks while it follows.

        Raises:
            LaunchError: The job has no such rank.
        """
        self.require_rank(handle, rank)
        for line in self.job_lines(handle, follow):
            if line.rank == rank and line.time >= since:
                yield line

    def require_rank(self, handle: JobHandle, rank: int) -> None:
        """Nothing, for a rank of the job.

        Raises:
            LaunchError: The job has no such rank.
        """
        place = folder_of(handle).definition
        document = read_object(place)
        if not document:
            raise LaunchError(RULES["job-folder"].at(str(place), "absent, or cut"))
        ranks = self.world_size_of(document)
        if not 0 <= rank < ranks:
            allowed = f"0 to {max(ranks, 1) - 1}"
            raise LaunchError(RULES["rank-unknown"].at("--rank", str(rank), allowed))

    def lines_of(self, path: Path, handle: JobHandle, follow: bool) -> Iterator[str]:
        """The lines of one of the job's files. Blocks while it follows.

        Raises:
            LaunchError: It cannot be read, or the job's folder is gone.
        """
        with reading(path):
            require_folder(handle)
            yield from log_file.lines_of(path, follow, lambda: self.describe(handle).final)

    def newest_lines(self, handle: JobHandle) -> Sequence[LogLine]:
        """See :class:`Service`: the end of the job's log file, rank 0's lines of it."""
        if not handle.details.get("folder"):
            return ()
        lines = map(log_file.timed, tail.lines_of(folder_of(handle).job_log, TAIL_BYTES))
        return [line for line in lines if line.rank == 0]

    def cancel(self, handle: JobHandle) -> None:
        """SIGTERM to the job's supervisor, which ends every process of the job.

        Raises:
            LaunchError: It is another user's, or another machine's.
        """
        if self.describe(handle).final:
            return
        ledger = Ledger()
        entry = ledger.get(self.provider, handle.name)
        if entry is None:
            return
        supervisor = entry.details.get("supervisor", "")
        host = elsewhere.host_of(entry.details)
        if host and not processes.is_alive(supervisor):
            found, fix = f"its processes are on {host}", f"there: launch cancel {handle.name}"
            raise LaunchError(RULES["job-elsewhere"].at(handle.name, found, fix=fix))
        if not processes.is_ours(supervisor):
            raise LaunchError(
                RULES["job-of-another-user"].at(
                    handle.name, f"its process {supervisor.partition(':')[0]} is another user's"
                )
            )
        # First the word, then the signal: a supervisor that ends at once is then "stopped".
        # A full disk keeps nobody from ending a job, which may be what fills it.
        with contextlib.suppress(LaunchError):
            ledger.update(entry, state=STOPPING)
        processes.send(supervisor, signal.SIGTERM)
