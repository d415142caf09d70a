"""How a job ends, for every way in which its ranks can."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from tests.entrypoints.simulated import HVD, WIPE_HOROVOD, SimulatedJob
from tests.waiting import until

MakeJob = Callable[..., SimulatedJob]

INIT = HVD + "import os, signal, sys, time\nhvd.init()\nrank = hvd.rank()\n"
TRAIN = INIT + "print('training', rank)\ntime.sleep(1000)\n"


def test_a_job_whose_ranks_all_end_well_succeeds_and_is_proven(make_job: MakeJob) -> None:
    job = make_job(hosts=2, processes=2)
    job.script(INIT + "print('trained', rank, sys.argv[1:])")
    assert job.run("--epochs", "3") == [0, 0]
    proof = "[host-1/0] launch: proof: world size 4: 2 hosts x 2 ranks, Gloo"
    assert job.said("proof") == [proof, f"{proof}; no training seen"]
    assert sorted(job.said("trained")) == [
        f"[host-{1 + rank // 2}/{rank}] trained {rank} ['--epochs', '3']" for rank in range(4)
    ]
    assert not job.failures()
    assert not job.processes_of_ranks()


@pytest.mark.parametrize("victim", [0, 1, 2, 3])
def test_all_ranks_of_all_hosts_are_gone_soon_after_one_is_killed(
    victim: int, make_job: MakeJob
) -> None:
    job = make_job(hosts=2, processes=2)
    job.script("import subprocess\nsubprocess.Popen(['sleep', '1000'])\n" + TRAIN)
    job.start_all()
    job.until_said("training", count=4)
    os.kill(job.guard(victim), signal.SIGKILL)
    until(lambda: not job.processes_of_ranks(), "the end of all ranks")
    assert job.wait() == [137, 137]
    how = "killed by SIGKILL (by hand, or by the kernel when memory ran out)"
    assert job.failure() == {
        "rank": victim,
        "host": f"host-{1 + victim // 2}",
        "exit_code": 137,
        "signal": "SIGKILL",
        "phase": "training",
        "reason": f"rank {victim} {how}",
    }


@pytest.mark.parametrize("rank", [0, 3])
def test_a_script_that_raises_on_one_rank_ends_the_job_with_its_traceback(
    rank: int, make_job: MakeJob
) -> None:
    job = make_job(hosts=2, processes=2)
    job.script(INIT + f"if rank == {rank}: raise ValueError('boom')\ntime.sleep(1000)\n")
    assert job.run() == [1, 1]
    assert len(job.said("Traceback")) == len(job.said(r"/\d\] ValueError: boom")) == 1
    failure = job.failure()
    assert (failure["rank"], failure["reason"]) == (rank, "ValueError: boom")
    assert (failure["exit_code"], failure["signal"], failure["phase"]) == (1, None, "training")


def test_a_script_that_raises_on_all_ranks_shows_one_traceback(make_job: MakeJob) -> None:
    job = make_job(hosts=2, processes=2)
    logs = job.folder / "logs"
    job.script(INIT + "raise ValueError('boom')")
    assert job.run(LAUNCH_LOG_DIR=str(logs)) == [1, 1]
    assert len(job.said("Traceback")) == 1
    shown = job.said(r"/\d\] ValueError: boom")
    assert len(shown) == 1
    assert shown[0].startswith(f"[{job.failure()['host']}/{job.failure()['rank']}] ")
    assert "Traceback" in (logs / f"rank-{job.failure()['rank']}.log").read_text()


FOLLOWS = """
if rank == {first}: raise hvd.HorovodInternalError("Connection closed by peer")
time.sleep(0.6)
if rank == {cause}: raise ValueError('boom')
time.sleep(1000)
"""


@pytest.mark.parametrize(("first", "cause"), [(0, 1), (1, 0), (0, 2), (2, 0)])
def test_what_only_follows_is_not_shown_as_the_cause_though_it_came_first(
    first: int, cause: int, make_job: MakeJob
) -> None:
    job = make_job(hosts=2, processes=2)
    job.script(INIT + FOLLOWS.format(first=first, cause=cause))
    assert job.run() == [1, 1]
    assert job.failure()["rank"] == cause
    assert job.failure()["reason"] == "ValueError: boom"
    assert not job.said("HorovodInternalError")


def test_a_horovod_error_without_a_cause_is_the_cause(make_job: MakeJob) -> None:
    job = make_job(hosts=2)
    job.script(INIT + "if rank == 1: raise hvd.HorovodInternalError('stalled')\ntime.sleep(1000)\n")
    assert job.run() == [1, 1]
    assert job.failure()["rank"] == 1
    assert "HorovodInternalError: stalled" in job.failure()["reason"]
    assert job.said(r"host-2/1\] .*HorovodInternalError: stalled")


# the end of rank 1; exit code of all agents; exit code and phase in the line
ENDS = {
    "sys.exit(3)": ("sys.exit(3)", 3, 3, "training"),
    "os._exit(7)": ("os._exit(7)", 7, 7, "training"),
    "sys.exit(text)": ("sys.exit('no data')", 1, 1, "training"),
    "SIGSEGV": ("os.kill(os.getpid(), signal.SIGSEGV)", 139, 139, "training"),
    "SIGABRT": ("os.abort()", 134, 134, "training"),
    "a failed exit handler thread": (
        "import atexit; atexit.register(os._exit, 9); sys.exit(0)", 9, 9, "ending",
    ),
}  # fmt: skip


@pytest.mark.parametrize("end", ENDS)
def test_the_failing_ranks_code_is_every_agents_code(end: str, make_job: MakeJob) -> None:
    text, code, exit_code, phase = ENDS[end]
    job = make_job(hosts=2)
    job.script(INIT + f"if rank == 1: {text}\ntime.sleep(1000)\n")
    assert job.run() == [code, code]
    failure = job.failure()
    assert (failure["rank"], failure["exit_code"], failure["phase"]) == (1, exit_code, phase)
    if end.startswith("sys.exit"):
        assert failure["reason"] == f"the script called {text}"


@pytest.mark.parametrize("code", [6, 11, 134, 139])
def test_a_crash_before_init_returned_is_no_transient_failure(code: int, make_job: MakeJob) -> None:
    job = make_job(hosts=2)
    crash = f"os.kill(os.getpid(), {code - 128})" if code > 128 else f"os._exit({code})"
    job.script(f"import os, time\nif os.environ['HOROVOD_RANK'] == '1': {crash}\ntime.sleep(1000)")
    assert job.run() == [1, 1]
    assert (job.failure()["exit_code"], job.failure()["phase"]) == (code, "starting")


def test_a_crash_inside_init_is_no_transient_failure(make_job: MakeJob) -> None:
    job = make_job(hosts=1, processes=2, STANDIN_CRASH="1")
    job.script(TRAIN)
    assert job.run() == [1]
    assert job.failure()["signal"] == "SIGABRT"


WITHOUT_INIT = {
    "last line": "",
    "sys.exit(0)": "import sys; sys.exit(0)",
    "os._exit(0)": "import os; os._exit(0)",
    "exec": "import os; os.execv('/bin/true', ['true'])",
}


@pytest.mark.parametrize("end", WITHOUT_INIT)
def test_copies_that_never_initialise_horovod_fail_however_they_end(
    end: str, make_job: MakeJob
) -> None:
    job = make_job(hosts=2)
    job.script("print('copy')\n" + WITHOUT_INIT[end])
    assert job.run() == [1, 1]
    assert "2 independent copies ran" in job.failure()["reason"]
    assert not job.said("proof")


def test_horovod_may_be_shut_down_before_the_end(make_job: MakeJob) -> None:
    job = make_job(hosts=2)
    job.script(INIT + "hvd.shutdown()\nos._exit(0)\n")
    assert job.run() == [0, 0]


ALONE = {"last line": "", "os._exit(0)": "import os; os._exit(0)", "Horovod": HVD + "hvd.init()"}


@pytest.mark.parametrize("end", ALONE)
def test_a_job_of_one_rank_is_proven_once_however_it_ends(end: str, make_job: MakeJob) -> None:
    job = make_job(hosts=1)
    job.script("print('alone')\n" + ALONE[end])
    assert job.run() == [0]
    used = "Gloo" if end == "Horovod" else "Horovod not used"
    assert job.said("proof") == [f"[host-1/0] launch: proof: world size 1: 1 host x 1 rank, {used}"]


def test_every_variable_of_horovods_wiped_by_the_script_is_named(make_job: MakeJob) -> None:
    job = make_job(hosts=2)
    job.script(
        WIPE_HOROVOD
        + "try:\n    "
        + INIT.replace("\n", "\n    ")
        + "\nexcept BaseException: pass\n"
    )
    assert job.run() == [1, 1]
    reason = job.failure()["reason"]
    assert "expected world size 2" in reason
    assert "found world size 1" in reason
    assert "the script has removed HOROVOD_RANK, HOROVOD_SIZE" in reason
    assert job.said("launch: fix: leave the HOROVOD_")
    assert not job.said("proof")


def test_an_mpi_build_without_its_controller_variable_is_named(make_job: MakeJob) -> None:
    job = make_job(hosts=2, STANDIN_BUILT="mpi,gloo")
    job.script("import os\ndel os.environ['HOROVOD_CONTROLLER']\n" + INIT)
    assert job.run() == [1, 1]
    assert "the script has removed HOROVOD_CONTROLLER" in job.failure()["reason"]


def test_a_horovod_without_gloo_is_named(make_job: MakeJob) -> None:
    job = make_job(hosts=2, STANDIN_BUILT="mpi")
    job.script(INIT)
    assert job.run() == [1, 1]
    assert "built without Gloo" in job.failure()["reason"]


@pytest.mark.parametrize("told", ["LAUNCH_WORLD_SIZE", "LAUNCH_PROCESSES", "LAUNCH_INSTANCES"])
def test_a_promise_that_the_hosts_do_not_keep_ends_the_job_before_any_rank(
    told: str, make_job: MakeJob
) -> None:
    job = make_job(hosts=2, **{told: "3"})
    job.script("print('the script ran')")
    assert job.run() == [1, 1]
    assert told in job.failure()["reason"] or "LAUNCH_WORLD_SIZE" in job.failure()["reason"]
    assert job.failure()["phase"] == "joining"
    assert not job.said("the script ran")


def test_hosts_with_different_numbers_of_ranks_are_named(make_job: MakeJob) -> None:
    job = make_job(hosts=2)
    job.script("print('the script ran')")
    job.start(0)
    job.start(1, LAUNCH_PROCESSES="2")
    assert job.wait() == [1, 1]
    assert (
        "LAUNCH_PROCESSES differs between hosts: 1 on host-1, 2 on host-2"
        in (job.failure()["reason"])
    )
    assert not job.said("the script ran")


def test_a_child_process_with_a_wrong_size_is_the_failure(make_job: MakeJob) -> None:
    job = make_job(hosts=2)
    job.script(HVD + "hvd.init(comm=[0])\n", "real.py")
    job.script("import subprocess, sys\nsubprocess.run([sys.executable, 'real.py'])\n"
               "import time; time.sleep(1000)\n")  # fmt: skip
    assert job.run() == [1, 1]
    assert "a part of the ranks" in job.failure()["reason"]
    assert job.failure()["exit_code"] == 1


def test_what_the_ranks_left_behind_ends_with_the_job(make_job: MakeJob) -> None:
    job = make_job(hosts=2)
    job.script(INIT + "import subprocess\n"
               "subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
               "subprocess.Popen(['sleep', '1000'])\n")  # fmt: skip
    assert job.run() == [0, 0]
    assert not job.processes_of_ranks()


def test_a_rank_that_hangs_in_its_end_is_ended_when_another_fails(make_job: MakeJob) -> None:
    job = make_job(hosts=2)
    job.script(INIT + "import atexit\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
               "atexit.register(time.sleep, 1000)\nraise ValueError('boom')\n")  # fmt: skip
    assert job.run() == [1, 1]
    assert job.failure()["reason"] == "ValueError: boom"
    assert len(job.said("Traceback")) == 1
