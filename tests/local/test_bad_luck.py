"""What bad luck gets: every row of the README's table, with real Horovod ranks.

Each test marks its processes by its own LAUNCH_HOME, so that what is left behind is found.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from launchers.core.pipeline import prepare
from launchers.core.records.entry import Entry
from launchers.core.records.ledger import Ledger
from launchers.core.spec.job import JobSpec
from launchers.local.launcher import LOCAL
from launchers.local.options import LocalOptions
from launchers.local.service import LocalService
from launchers.machine import processes
from tests.cli.command import Launch
from tests.local import scripts
from tests.places import ROOT
from tests.refusals import refused
from tests.waiting import processes_with, until

pytestmark = pytest.mark.horovod

TWO_HOSTS = ("local", "train.py", "--instances", "2")
FILLS = """import contextlib, os
filler = os.environ["LAUNCH_MODEL_DIR"] + "/filler"
with contextlib.suppress(OSError), open(filler, "wb", 0) as file:
    while True:
        file.write(bytes(4096))
for _ in range(2000):
    print("y" * 200)
"""
# A day ahead as soon as the script runs.
AHEAD = """import os, time
_now = time.time
time.time = lambda: _now() + 86400 * os.path.exists(os.path.dirname(__file__) + "/now")
"""


@pytest.fixture(autouse=True)
def nothing_is_left(launch: Launch) -> Iterator[None]:
    """No process of the test's jobs outlives it."""
    yield
    left = until(lambda: _none_left(launch), "all processes gone")
    assert left == "none"


def _none_left(launch: Launch) -> str:
    return "" if ranks_of(launch) else "none"


def ranks_of(launch: Launch) -> list[int]:
    """The processes that have the test's own folder in their environment or command line."""
    return processes_with(str(launch.home.parent))


def log_of(launch: Launch) -> str:
    return "".join(path.read_text() for path in launch.home.glob("jobs/*/logs/job.log"))


def started(launch: Launch, *words: str, marker: str = "stepping") -> subprocess.Popen[str]:
    """The command, once both ranks of its job have written ``marker``."""
    process = launch.start(*words)
    try:
        until(lambda: log_of(launch).count(marker) >= 2 or process.poll() is not None, marker)
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
    except BaseException:
        process.kill()
        raise
    return process


def state_of(launch: Launch) -> tuple[str, str]:
    job = launch("list", "--json").json[0]
    return job["state"], job["reason"]


def test_a_good_job_is_proven_and_found_again(launch: Launch):
    launch.write("train.py", scripts.HOROVOD)
    answer = launch(*TWO_HOSTS, "--processes", "2", "--json")
    assert answer.code == 0, answer.err
    assert answer.json["state"] == "succeeded"
    assert answer.json["proof"] == "world size 4: 2 hosts x 2 ranks, Gloo; no training seen"
    name = answer.json["name"]
    assert launch("wait", name).code == 0
    assert launch("status", name, "--json").json["state"] == "succeeded"
    for rank in range(4):
        assert f"rank {rank} of 4" in launch("logs", name, "--rank", str(rank)).out
    tagged = re.findall(r"^(\[.*\]) rank (\d) of 4", launch("logs", name).out, re.MULTILINE)
    assert sorted(tagged) == [
        ("[host-1/0]", "0"),
        ("[host-1/1]", "1"),
        ("[host-2/2]", "2"),
        ("[host-2/3]", "3"),
    ]
    unknown = launch("logs", name, "--rank", "4")
    assert (unknown.code, "[rank-unknown]" in unknown.err) == (2, True)
    objects = [json.loads(line) for line in launch("logs", name, "--json").out.splitlines()]
    assert {entry["rank"] for entry in objects} == {None, 0, 1, 2, 3}


def test_a_rank_that_is_killed_ends_the_job_and_is_named(launch: Launch):
    launch.write("train.py", scripts.ENDLESS)
    process = started(launch, *TWO_HOSTS)
    victim = int(re.findall(r"rank 1 of 2 pid (\d+)", log_of(launch))[0])
    os.kill(victim, signal.SIGKILL)
    until(lambda: not _rank_processes(launch), "all ranks gone")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "rank 1 on host-2" in err
    assert "SIGKILL" in err
    assert "the last lines of rank 1" in err
    assert re.search(r"launch logs train-\w+-1 --rank 1", err)


def _rank_processes(launch: Launch) -> list[int]:
    return [pid for pid in ranks_of(launch) if b"guard.py" in _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_a_script_that_raises_shows_its_traceback_once(launch: Launch):
    launch.write("train.py", scripts.RAISES)
    answer = launch(*TWO_HOSTS)
    assert answer.code == 1
    shown = answer.out + answer.err
    assert shown.count("Traceback (most recent call last)") == 1
    assert "ValueError: no such layer: conv9" in shown
    assert "guard.py" not in answer.out


def test_the_rank_that_raised_is_the_cause_and_not_the_one_that_noticed(launch: Launch):
    launch.write("train.py", scripts.ONE_RAISES)
    answer = launch(*TWO_HOSTS)
    assert answer.code == 1
    assert "only rank 1 knows why" in answer.out
    assert "rank 1 on host-2" in answer.err
    assert "HorovodInternalError" not in answer.out


def test_a_script_without_init_is_independent_copies(launch: Launch):
    launch.write("train.py", scripts.NO_INIT)
    answer = launch(*TWO_HOSTS, "--strategy", "horovod")
    assert answer.code == 1
    assert "2 independent copies ran" in answer.out + answer.err
    assert "hvd.init()" in answer.out + answer.err


def test_variables_that_the_script_wiped_are_named_the_moment_init_returns(launch: Launch):
    launch.write("train.py", scripts.WIPED)
    answer = launch(*TWO_HOSTS)
    assert answer.code == 1
    assert "the first line after init" not in answer.out
    assert "HOROVOD_" in answer.out + answer.err


def test_a_world_size_that_differs_ends_before_the_scripts_first_line(
    launch: Launch, tmp_path: Path
):
    """The document is changed behind the launcher's back, and run by the supervisor itself."""
    launch.write("train.py", "print('THE FIRST LINE')\nimport horovod.tensorflow\n")
    answer = launch(
        "local", "train.py", "--instances", "2", "--output-path", str(tmp_path / "o"), "--dry-run"
    )
    document = answer.json
    document["environment"]["LAUNCH_WORLD_SIZE"] = "8"
    folder = tmp_path / "o" / "changed"
    (folder / "logs").mkdir(parents=True)
    (folder / "definition.json").write_text(json.dumps({**document, "folder": str(folder)}))
    subprocess.run(
        [*launch.command()[:1], "-m", "launchers.local.supervisor", str(folder)],
        env=launch.environment({}),
        check=True,
        timeout=120,
    )
    result = json.loads((folder / "result.json").read_text())
    log = (folder / "logs" / "job.log").read_text()
    assert result["state"] == "failed"
    assert "THE FIRST LINE" not in log
    assert "8" in result["reason"]


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=["Ctrl-C", "SIGTERM", "terminal"]
)
def test_an_interrupt_ends_every_process(launch: Launch, number: signal.Signals):
    launch.write("train.py", scripts.ENDLESS)
    process = started(launch, *TWO_HOSTS)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert state_of(launch)[0] == "stopped"


def test_a_killed_launcher_takes_its_ranks_along(launch: Launch):
    launch.write("train.py", scripts.ENDLESS)
    process = started(launch, *TWO_HOSTS)
    process.kill()
    process.communicate()
    until(lambda: not ranks_of(launch), "all processes gone")
    state, reason = state_of(launch)
    assert (state, "killed" in reason) == ("lost", True)


def test_a_killed_supervisor_takes_its_ranks_along(launch: Launch):
    launch.write("train.py", scripts.ENDLESS)
    process = started(launch, *TWO_HOSTS)
    supervisor = [pid for pid in ranks_of(launch) if b"launchers.local.supervisor" in _command(pid)]
    os.kill(supervisor[0], signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode == 1
    assert state_of(launch)[0] == "lost"


def test_a_detached_job_goes_on_and_is_followed_waited_for_and_cancelled(launch: Launch):
    launch.write("train.py", scripts.ENDLESS)
    answer = launch(*TWO_HOSTS, "--detach", "--json")
    assert answer.code == 0, answer.err
    name = answer.json["name"]
    until(lambda: "stepping" in log_of(launch), "stepping")
    status = launch("status", name, "--json").json
    assert status["state"] == "running"
    assert status["created"] <= status["started"]
    assert status["proof"] == "world size 2: 2 hosts x 1 rank, Gloo"
    assert launch("wait", name, "--timeout", "1s").code == 1
    follower = launch.start("logs", name, "--follow")
    cancelled = launch("cancel", name, "--json")
    assert (cancelled.code, cancelled.json["state"]) == (0, "stopped")
    out, _ = follower.communicate(timeout=60)
    assert follower.returncode == 0
    assert "stepping" in out
    assert launch("wait", name).code == 1
    assert launch("cancel", name).code == 0
    assert launch("list", "--json").json[0]["state"] == "stopped"


def test_a_time_limit_ends_the_job(launch: Launch):
    launch.write("train.py", scripts.NO_INIT + "import time\ntime.sleep(600)\n")
    answer = launch("local", "train.py", "--max-runtime", "2s", "--json")
    assert (answer.code, answer.json["state"]) == (1, "timed out")
    assert "time limit" in answer.json["reason"]


def test_a_failed_runs_checkpoints_are_taken_up_and_a_good_runs_are_not(launch: Launch):
    launch.write("train.py", scripts.RESUMES)
    first = launch(*TWO_HOSTS, "--json")
    assert first.code == 1
    second = launch(*TWO_HOSTS, "--json")
    assert second.code == 0, second.err
    assert f"kept from {first.json['name']}" in second.err
    assert "starting at epoch 2" in second.err
    third = launch(*TWO_HOSTS, "--dry-run")
    assert "kept from" not in third.err
    assert third.json["environment"]["LAUNCH_CHECKPOINT_DIR"].endswith("-3/checkpoints")


def test_a_plain_script_runs_at_world_size_1_and_a_second_run_is_a_second_run(launch: Launch):
    launch.write("train.py", scripts.PLAIN)
    words = ("local", "train.py", "--json", "--", "--lr", "1.10", "", "a b")
    first, second = launch(*words), launch(*words)
    assert first.code == second.code == 0
    assert first.json["proof"] == "world size 1: 1 host x 1 rank, nothing distributed"
    assert "arguments ['--lr', '1.10', '', 'a b']" in first.err
    assert [answer.json["name"][-2:] for answer in (first, second)] == ["-1", "-2"]


def test_names_and_arguments_that_are_no_utf_8_are_taken_as_they_are(launch: Launch):
    launch.write("d\udcff/tr\udcfe.py", scripts.TELLS_ITS_CHECKPOINTS)
    words = ("local", "d\udcff/tr\udcfe.py", "--output-path", "out\udcfd", "--env", "A=\udcfc")
    answer = launch(*words, "--json", "--", "\udcfb")
    assert (answer.code, answer.json["failure"]["exit_code"]) == (1, 3)
    assert "['\\udcfb'] \\udcfc []" in answer.err
    assert answer.json["folder"] == f"{launch.folder}/out\udcfd/{answer.json['name']}"
    again = launch(*words, "--dry-run", "--", "\udcfb").json
    assert again["environment"]["LAUNCH_CHECKPOINT_DIR"] == f"{answer.json['folder']}/checkpoints"


def test_a_port_that_is_taken_is_told_before_any_rank(launch: Launch):
    launch.write("train.py", scripts.PLAIN)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        answer = launch("local", "train.py", "--port", str(taken.getsockname()[1]))
    assert answer.code == 2
    assert "a free port on 127.0.0.1" in answer.err
    assert launch("list", "--json").json == [] or launch("list").err.startswith("no jobs")


def test_a_folder_that_cannot_be_written_is_told_before_any_rank(launch: Launch):
    launch.write("train.py", scripts.PLAIN)
    launch.write("a-file", "")
    answer = launch("local", "train.py", "--output-path", "a-file/below")
    assert answer.code == 2
    assert "a folder that you may write to" in answer.err
    checkpoint = launch("local", "train.py", "--checkpoint", "a-file/below")
    assert checkpoint.code == 2


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 40 MB of its own; needs root, as CI is."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_told_before_any_rank(launch: Launch, small_disk: Path):
    launch.write("train.py", scripts.PLAIN)
    (small_disk / "filler").write_bytes(b"\0" * (30 << 20))
    answer = launch("local", "train.py", "--output-path", str(small_disk))
    assert answer.code == 2
    assert "MB free" in answer.err


@pytest.mark.parametrize("left", [0, 8 << 10, 40 << 10])
def test_a_disk_that_is_full_under_the_ledger_is_told_before_any_rank(
    launch: Launch, small_disk: Path, left: int
):
    launch.write("train.py", "print('a rank runs')\n")
    (small_disk / "home").mkdir()
    with (small_disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
        while True:
            filler.write(b"\0" * 4096)
    os.truncate(small_disk / "filler", (small_disk / "filler").stat().st_size - left)
    home = str(small_disk / "home")
    answer = launch("local", "train.py", "--output-path", "out", LAUNCH_HOME=home)
    assert answer.code == 2
    assert "a rank runs" not in answer.out
    (line,) = (line for line in answer.err.splitlines() if line.startswith("error"))
    assert "[ledger-unusable]" in line or "[folder-unwritable]" in line
    assert "defect" not in answer.err


def test_a_disk_that_fills_up_ends_the_job_with_that_reason(launch: Launch, small_disk: Path):
    launch.write("train.py", "while True:\n    print('x' * 1000)\n")
    answer = launch("local", "train.py", "--output-path", str(small_disk), "--json")
    assert answer.code == 1
    assert "No space left on device" in answer.json["reason"]
    assert "Traceback" not in answer.err


def test_a_script_that_fills_the_disk_under_the_ledger_leaves_its_result(
    launch: Launch, small_disk: Path
):
    launch.write("train.py", FILLS)
    home = str(small_disk / "home")
    answer = launch("local", "train.py", "--json", LAUNCH_HOME=home)
    assert answer.code == 1
    assert answer.json["state"] == "failed"
    assert "No space left on device" in answer.json["reason"]
    (result,) = small_disk.glob("home/jobs/*/result.json")
    assert json.loads(result.read_text())["state"] == "failed"
    (job,) = launch("list", "--json", LAUNCH_HOME=home).json
    assert job["state"] == "failed"


def test_a_job_is_ended_though_the_disk_under_the_ledger_is_full(
    launch: Launch, small_disk: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LAUNCH_HOME", str(small_disk / "home"))
    with subprocess.Popen(["sleep", "300"]) as supervisor:
        entry = Entry("train-1", "local", "train", 1, 1, "{}", "running", created=1.0)
        identity = processes.identity(supervisor.pid)
        Ledger().add(replace(entry, details={"supervisor": identity, "folder": "/nowhere"}))
        with (small_disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
            while True:
                filler.write(b"\0" * 4096)

        try:
            LocalService().cancel(entry.handle)

            assert supervisor.wait(60) == -signal.SIGTERM
        finally:
            supervisor.kill()
    status = LocalService().describe(entry.handle)
    assert (status.state, status.reason[:30]) == ("lost", "its supervisor ended without a")
    with refused("ledger-unusable", ""):
        Ledger().update(entry, state="stopping")


def test_a_clock_that_is_set_ahead_ends_no_job(launch: Launch):
    launch.write("ahead/sitecustomize.py", AHEAD)
    launch.write("train.py", "import time\nopen('ahead/now', 'w').close()\ntime.sleep(2)\n")
    path = os.pathsep.join([str(ROOT), str(launch.folder / "ahead")])
    answer = launch("local", "train.py", "--max-runtime", "1h", PYTHONPATH=path)
    assert answer.code == 0, answer.err


def test_a_job_of_another_user_is_not_called_stopping(
    launch: Launch, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LAUNCH_HOME", str(launch.home))
    entry = Entry("train-1", "local", "train", 1, 1, "{}", "running")
    Ledger().add(replace(entry, details={"supervisor": processes.identity(1)}))

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "kill", refuse)
    with refused("job-of-another-user", "its process 1 is another user's"):
        LocalService().cancel(entry.handle)
    assert Ledger().find("train-1").state == "running"


def test_a_job_for_which_no_process_can_be_started_leaves_nothing(
    launch: Launch, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LAUNCH_HOME", str(launch.home))
    launch.write("train.py", "print()\n")
    script = str(launch.folder / "train.py")
    job = JobSpec(provider="local", script=script, options=LocalOptions())
    prepared = prepare(LOCAL, job, online=True)

    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    with monkeypatch.context() as patched:
        patched.setattr(subprocess, "Popen", refuse)
        with refused("process-start", "Resource temporarily unavailable"):
            LocalService().submit(prepared.definition, prepared.bundle)
    assert list(launch.home.glob("jobs/*")) == []


def test_requirements_are_installed_for_the_job_alone(launch: Launch):
    launch.write("package/pyproject.toml", '[project]\nname = "tiny-dep"\nversion = "1"\n')
    launch.write("package/tiny_dep.py", "VALUE = 42\n")
    launch.write("deps.txt", "./package\n")
    launch.write("train.py", "import tiny_dep\nprint('value', tiny_dep.VALUE)\n")
    answer = launch("local", "train.py", "--requirements", "deps.txt", "--json")
    assert answer.code == 0, answer.err
    assert "value 42" in answer.err
    assert answer.json["created"] < answer.json["started"] < answer.json["ended"]
    with pytest.raises(ImportError):
        __import__("tiny_dep")


def test_requirements_that_cannot_be_installed_end_the_job_before_any_rank(launch: Launch):
    launch.write("deps.txt", "./nosuch\n")
    launch.write("train.py", scripts.PLAIN)
    answer = launch("local", "train.py", "--requirements", "deps.txt", "--json")
    assert answer.code == 1
    assert "pip could not install" in answer.json["reason"]
    assert answer.json["started"] is None
    assert "arguments [" not in answer.err


def test_the_folder_of_a_job_in_the_source_makes_the_next_one_no_other_job(launch: Launch) -> None:
    launch.write("train.py", "print('trained')\n")
    words = ("local", "train.py", "--output-path", "jobs", "--json")
    first, second = launch(*words), launch(*words)
    assert (first.code, second.code) == (0, 0), second.err
    assert second.json["name"] == f"{first.json['name'].removesuffix('-1')}-2"
