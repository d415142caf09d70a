"""A job of another machine, or of another container, that shares this one's data folder."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from launchers.core.proof import Expected, Said, expected_of
from launchers.core.records.entry import Entry
from launchers.core.records.ledger import Ledger
from launchers.local.service import LocalService
from launchers.machine import processes
from launchers.machine.supervised import elsewhere
from launchers.machine.supervised.folder import JobFolder
from launchers.machine.supervised.supervisor import Supervisor
from tests.refusals import refused

ELSEWHERE = "gpu-7.example"


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Entry:
    """One that another machine has begun a moment ago."""
    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path / "home"))
    folder = tmp_path / "job"
    (folder / "logs").mkdir(parents=True)
    (folder / "logs" / "supervisor.log").touch()
    supervisor = f"{os.getpid()}:1:another-start-of-another-machine"
    details = {"supervisor": supervisor, "host": ELSEWHERE, "folder": str(folder)}
    entry = Entry(
        "train-1", "local", "train", 1, 2, "{}", "running", created=time.time(), details=details
    )
    Ledger().add(entry)
    return entry


def folder_of(job: Entry) -> JobFolder:
    return JobFolder(Path(job.details["folder"]))


def state_of(job: Entry) -> tuple[str, str]:
    status = LocalService().describe(job.handle)
    return status.state, status.reason


def test_a_job_of_another_machine_is_not_lost_while_it_gives_signs_of_life(job: Entry) -> None:
    assert state_of(job) == (
        "running",
        f"on {ELSEWHERE}: only there can be seen whether it still runs",
    )
    assert Ledger().find("train-1").state == "running"


def test_one_whose_folder_is_not_seen_from_here_may_still_run(job: Entry) -> None:
    folder_of(job).path.rename(folder_of(job).path.with_name("another-disk"))
    assert state_of(job)[0] == "running"


def test_and_is_lost_a_day_after_its_start(job: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    folder_of(job).path.rename(folder_of(job).path.with_name("another-disk"))
    later = job.created + elsewhere.UNSEEN_SECONDS + 1
    monkeypatch.setattr(elsewhere.time, "time", lambda: later)
    assert state_of(job)[0] == Ledger().find("train-1").state == "lost"


def test_one_that_is_silent_for_long_is_lost(job: Entry) -> None:
    os.utime(folder_of(job).supervisor_log, (0, time.time() - 700))
    state, reason = state_of(job)
    assert state == Ledger().find("train-1").state == "lost"
    assert reason.startswith(f"its supervisor on {ELSEWHERE} has given no sign of life for 70")


def test_its_result_is_its_end(job: Entry) -> None:
    folder_of(job).result.write_text(json.dumps({"state": "succeeded", "proof": "world size 2"}))
    assert state_of(job)[0] == Ledger().find("train-1").state == "succeeded"


def test_it_is_ended_there(job: Entry) -> None:
    with refused("job-elsewhere", f"{ELSEWHERE}.*there: launch cancel train-1"):
        LocalService().cancel(job.handle)
    assert Ledger().find("train-1").state == "running"


class _Sleeping(Supervisor):
    """Runs one process that does nothing."""

    provider = "local"

    def expects(self, document: Mapping[str, Any]) -> Expected:
        return expected_of({"LAUNCH_WORLD_SIZE": "1"})

    def work(self) -> None:
        child = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
        self.follow(child, child.stdout, lambda text: None)
        self.wait()

    def said(self) -> Said:
        raise NotImplementedError

    def exit_codes(self) -> dict[str, int | None]:
        return {}


def test_a_supervisor_says_where_it_is_and_gives_signs_of_life(job: Entry) -> None:
    folder = folder_of(job)
    folder.definition.write_text('{"name": "train-1", "max_runtime_seconds": 0}')
    os.utime(folder.supervisor_log, (0, 0))
    supervisor = _Sleeping(folder)
    supervisor.work()
    supervisor._record("running")
    details = Ledger().find("train-1").details
    assert details["host"] == socket.gethostname()
    assert elsewhere.host_of(details) == ""
    assert time.time() - supervisor.folder.supervisor_log.stat().st_mtime < 60


def test_a_process_whose_name_is_no_text_has_an_identity() -> None:
    naming = "import ctypes, sys; ctypes.CDLL(None).prctl(15, b'caf\\xe9', 0, 0, 0)"
    program = f"{naming}; print(flush=True); sys.stdin.read()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program], **pipes) as process:
        assert process.stdout is not None
        process.stdout.readline()
        known = processes.identity(process.pid)
        assert known.startswith(f"{process.pid}:")
        assert processes.is_alive(known)
        process.communicate()
    assert not processes.is_alive(known)


def test_a_result_that_a_script_has_written_over_is_read_as_far_as_it_goes(job: Entry) -> None:
    forged = {"state": "failed", "reason": [1], "failure": "x", "ended": "now", "fix": "mend it"}
    folder_of(job).result.write_text(json.dumps(forged))
    status = LocalService().describe(job.handle)
    assert (status.state, status.reason) == ("failed", "")
    assert {"failure", "ended"}.isdisjoint(status.details)
    assert status.details["fix"] == "mend it"
    folder_of(job).result.write_text('{"state": ["failed"]}')
    assert LocalService().describe(job.handle).details == job.details
