"""Jobs of this machine: started, followed, ended."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from launchers.core.analysis import standard_input
from launchers.core.model.jobs import (
    LOST,
    STOPPED,
    STOPPING,
    JobDefinition,
    JobHandle,
    JobStatus,
    Listener,
    LogLine,
)
from launchers.core.model.problems import EXIT_BAD_REQUEST, LaunchError, NameTakenError, Problem
from launchers.core.output.lines import JobWatch, parse_tagged
from launchers.core.paths import unwritable, writing
from launchers.core.planning.plan import Account, Plan
from launchers.core.provider import SILENT, Service
from launchers.core.records.ledger import Ledger, data_folder
from launchers.core.source.bundle import SourceBundle
from launchers.local.catalogue import RULES
from launchers.local.job_folder import JobFolder, read_json, write_private
from launchers.local.plan import output_root
from launchers.local.preflight import ELSEWHERE, preflight
from launchers.local.script_mode import MADE_FOLDERS
from launchers.machine import processes

RESERVE_BYTES = 64 * 1024
_POLL_SECONDS = 0.1
_START_SECONDS = 30.0


class LocalService(Service):
    """Ranks as processes on this machine, each simulated host with its own agent.

    A job outlives this object: its supervisor is a process of its own, and the ledger and the
    job's folder are all that a later `launch` needs to find it.
    """

    preflight_exit = EXIT_BAD_REQUEST

    def __init__(self, listener: Listener = SILENT):
        super().__init__(listener)
        self._lifelines: dict[str, int] = {}

    def resolve(self, plan: Plan) -> Account:
        """Nothing here is known to an account alone."""
        return plan.account

    def preflight(self, definition: JobDefinition) -> list[Problem]:
        """See :func:`launchers.local.preflight.preflight`."""
        return preflight(definition)

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
            folder.model.mkdir()
            for place in _places_below(folder.path, definition.document["environment"]):
                place.mkdir(parents=True, exist_ok=True)
            write_private(folder.definition, definition.text)
            folder.reserve.write_bytes(b"\0" * RESERVE_BYTES)
        except OSError as error:
            shutil.rmtree(folder.path, ignore_errors=True)
            raise LaunchError(unwritable(folder.path, error, ELSEWHERE)) from None
        only_rank = definition.document["world_size"] == 1
        return self._start(definition, folder, only_rank and standard_input.is_given())

    def _start(self, definition: JobDefinition, folder: JobFolder, hand_on: bool) -> JobHandle:
        name = definition.name
        # A rank that gets it reads it itself: nothing is copied, and nothing here waits for it.
        read_end, write_end = os.pipe()
        if not self._lifelines:
            atexit.register(self._let_go)
        self._lifelines[name] = write_end
        package_root = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, [package_root, os.environ.get("PYTHONPATH")]))
        with writing(folder.supervisor_log, ELSEWHERE), folder.supervisor_log.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "launchers.local.supervisor", str(folder.path)],
                stdin=None if hand_on else subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=(read_end,),
                cwd="/",
                env={
                    **os.environ,
                    "LAUNCH_LIFELINE_FD": str(read_end),
                    "LAUNCH_STDIN": "inherit" if hand_on else "",
                    "PYTHONPATH": path,
                    "LAUNCH_HOME": str(data_folder()),
                },
            )
        os.close(read_end)
        details = {
            "folder": str(folder.path),
            "supervisor": processes.identity(process.pid),
            "strategy": definition.strategy,
        }
        handle = JobHandle("local", name, details)
        entry = Ledger().get("local", name)
        if entry:
            Ledger().update(entry, details=details)
        return handle

    def detach(self, handle: JobHandle) -> None:
        """Let the job go on after this process. Safe to repeat."""
        write_end = self._lifelines.pop(handle.name, None)
        if write_end is not None:
            os.write(write_end, b"detach\n")
            os.close(write_end)

    def name_exists(self, plan: Plan, name: str) -> bool:
        """Whether the folder that the job would have is there already."""
        return os.path.lexists(output_root(plan.job) / name)

    def _let_go(self) -> None:
        """This process ends in order: what it owns and has not been told to end yet, does now."""
        for write_end in self._lifelines.values():
            with contextlib.suppress(OSError):  # it has ended
                os.write(write_end, b"stop\n")

    def without_gpus(self, handle: JobHandle) -> bool:
        """See :meth:`Service.without_gpus`."""
        folder = handle.details.get("folder")
        document = read_json(JobFolder(Path(folder)).definition) if folder else None
        hosts = (document or {}).get("hosts", [])
        return bool(hosts) and not any(
            host["environment"].get("CUDA_VISIBLE_DEVICES") for host in hosts
        )

    def describe(self, handle: JobHandle) -> JobStatus:
        """What the ledger says, after a look at whether the supervisor still lives."""
        ledger = Ledger()
        entry = ledger.get("local", handle.name)
        if entry is None:
            raise LaunchError(RULES["job-unknown"].at("JOB", handle.name, "a job of `launch list`"))
        if entry.final:
            return JobStatus(entry.state, entry.reason, entry.proof, self._details(entry.details))
        supervisor = entry.details.get("supervisor", "")
        starting = not supervisor and time.time() - entry.created < _START_SECONDS
        if not starting and not processes.is_alive(supervisor):
            # The supervisor writes its result before it ends: look again before calling it lost.
            self._settle(entry.details, ledger, handle)
            entry = ledger.get("local", handle.name) or entry
        return JobStatus(entry.state, entry.reason, entry.proof, self._details(entry.details))

    def _settle(self, details: Any, ledger: Ledger, handle: JobHandle) -> None:
        entry = ledger.get("local", handle.name)
        if entry is None or entry.final:
            return
        folder = JobFolder(Path(details["folder"])) if details.get("folder") else None
        result = read_json(folder.result) if folder else None
        if result:
            ledger.update(
                entry, state=result["state"], reason=result["reason"], proof=result["proof"]
            )
        elif entry.state == STOPPING:
            ledger.update(entry, state=STOPPED, reason="stopped by its user")
        else:
            reason = "its supervisor ended without a word (killed, or the machine was restarted)"
            ledger.update(entry, state=LOST, reason=reason)

    def _details(self, details: Any) -> dict[str, Any]:
        result = read_json(JobFolder(Path(details["folder"])).result) if details else None
        return {**details, **(result or {})}

    def logs(
        self,
        handle: JobHandle,
        since: float = 0.0,
        follow: bool = False,
        rank: int | None = None,
        watch: JobWatch | None = None,
    ) -> Iterator[LogLine]:
        """The job's lines. Of one rank: everything it printed, from its own file.

        A byte that is no UTF-8 is a lone surrogate in the text (PEP 383).
        """
        for line in self._logged(handle, since, follow, rank):
            if watch is not None:
                watch.see(line)
            yield line

    def _logged(
        self, handle: JobHandle, since: float, follow: bool, rank: int | None
    ) -> Iterator[LogLine]:
        folder = JobFolder(Path(handle.details["folder"]))
        if rank is None:
            for text in self._lines(folder.job_log, handle, follow):
                moment, _, tagged = text.partition(" ")
                if float(moment) >= since:
                    yield parse_tagged(tagged, float(moment))
            return
        document = read_json(folder.definition) or {"hosts": []}
        host = next((item["name"] for item in document["hosts"] if rank in item["ranks"]), None)
        if host is None:
            raise LaunchError(
                RULES["rank-unknown"].at(
                    "--rank", str(rank), f"0 to {document.get('world_size', 1) - 1}"
                )
            )
        for text in self._lines(folder.rank_log(rank), handle, follow):
            yield LogLine(0.0, host, rank, text)

    def _lines(self, path: Path, handle: JobHandle, follow: bool) -> Iterator[str]:
        ended = not follow
        while not path.exists():
            if ended:
                return
            ended = self.describe(handle).final
            time.sleep(_POLL_SECONDS)
        with path.open("r", encoding="utf-8", errors="surrogateescape", newline="\n") as stream:
            partial = ""
            checked = time.monotonic()
            while True:
                text = stream.readline()
                if text.endswith("\n"):
                    yield (partial + text).removesuffix("\n")
                    partial = ""
                    continue
                partial += text
                if text:
                    continue
                if ended:
                    break
                # Ask first whether it has ended, then read what came meanwhile.
                if time.monotonic() - checked > 2 * _POLL_SECONDS:
                    ended = self.describe(handle).final
                    checked = time.monotonic()
                    if ended:
                        continue
                time.sleep(_POLL_SECONDS)
            if partial:
                yield partial

    def cancel(self, handle: JobHandle) -> None:
        """SIGTERM to the job's supervisor, which ends every process of the job."""
        if self.describe(handle).final:
            return
        ledger = Ledger()
        entry = ledger.get("local", handle.name)
        if entry is None:
            return
        # First the word, then the signal: a supervisor that ends at once is then "stopped".
        ledger.update(entry, state=STOPPING)
        processes.send(entry.details.get("supervisor", ""), signal.SIGTERM)


def _places_below(folder: Path, environment: dict[str, str]) -> list[Path]:
    """The folders that SageMaker makes for a script's output, where the job has such."""
    places = [Path(environment[name]) for name in MADE_FOLDERS if name in environment]
    return [place for place in places if folder in place.parents]
