"""What the guard asserts before the script's first line, when init returns, and at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.entrypoints.rank.guard_runs import ONE_HOST, TWO_HOSTS, run_guard, under_mpirun
from tests.entrypoints.simulated import HVD

pytestmark = pytest.mark.processes

INIT = HVD + "hvd.init()\nprint('trained', hvd.size())\n"
FOUR = {"LAUNCH_WORLD_SIZE": "4", "LAUNCH_INSTANCES": "2", "LAUNCH_PROCESSES": "2"}

# environment; words of the refusal
BEFORE_THE_SCRIPT = {
    "started by nobody": (
        TWO_HOSTS, ["found world size 1 (given by nobody)", "one independent copy", "fix: start"],
    ),
    "started by SageMaker without MPI": (
        {**TWO_HOSTS, "SM_HOSTS": '["algo-1", "algo-2"]'}, ["sagemaker_mpi_enabled must be true"],
    ),
    "the count of one host as the count of all": (
        {**FOUR, **under_mpirun(2, local_size=2)},
        ["expected world size 4 (2 hosts x 2 ranks), found world size 2 (given by mpirun)",
         "number of ranks per host was passed as the number of all ranks"],
    ),
    "all ranks on one host": (
        {**FOUR, **under_mpirun(4, local_size=4)}, ["found 4 ranks on host", "not spread over"],
    ),
    "a hyperparameter that overrides": (
        {**FOUR, **under_mpirun(1), "SM_HOSTS": "[]"}, ["sagemaker_mpi_num_processes"],
    ),
    "horovodrun with another size": (
        {**TWO_HOSTS, "HOROVOD_SIZE": "3", "HOROVOD_RANK": "1"},
        ["world size 3 (given by horovodrun"],
    ),
    "a definition that contradicts itself": (
        {**TWO_HOSTS, "LAUNCH_WORLD_SIZE": "3", **under_mpirun(3)}, ["found 3 and 2 x 1"],
    ),
    "no world size under mpirun": (
        under_mpirun(2), ["found none", "only the variables that -x names"],
    ),
    "a world size that is no number": (
        {**TWO_HOSTS, "LAUNCH_WORLD_SIZE": "two"}, ["LAUNCH_WORLD_SIZE: found 'two'"],
    ),
    "a rank that is no number": (
        {**TWO_HOSTS, **under_mpirun(2), "OMPI_COMM_WORLD_RANK": "x"},
        ["OMPI_COMM_WORLD_RANK: found 'x'"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BEFORE_THE_SCRIPT)
def test_a_wrong_world_size_ends_the_rank_before_the_first_line_of_the_script(
    case: str, tmp_path: Path
) -> None:
    environment, words = BEFORE_THE_SCRIPT[case]
    ended = run_guard(tmp_path, "print('the script ran')", **environment)
    assert ended.code == 1
    assert "the script ran" not in ended.stdout
    assert "Traceback" not in ended.stderr
    assert ended.stdout.startswith("launch: ")
    for word in words:
        assert word in ended.stdout
    assert ended.failure()["phase"] == "starting"


def test_rank_0_prints_the_proof_when_init_returns_and_the_others_do_not(tmp_path: Path) -> None:
    first = run_guard(tmp_path, INIT, **FOUR, **under_mpirun(4, local_size=2))
    other = run_guard(tmp_path, INIT, **FOUR, **under_mpirun(4, 3, local_size=2, local_rank=1))
    assert (first.code, other.code) == (0, 0)
    assert first.ours == ["launch: proof: world size 4: 2 hosts x 2 ranks, MPI"]
    assert other.ours == []
    assert first.printed == other.printed == ["trained 4"]


def test_the_proof_is_a_line_of_its_own_whatever_stands_before_it(tmp_path: Path) -> None:
    text = "print('loading ...', end='')\n" + INIT
    assert run_guard(tmp_path, text, **TWO_HOSTS, **under_mpirun(2)).ours == [
        "launch: proof: world size 2: 2 hosts x 1 rank, MPI"
    ]


def test_a_script_at_world_size_1_without_horovod_is_proven_at_its_end(tmp_path: Path) -> None:
    ended = run_guard(tmp_path, "print('hello')", **ONE_HOST)
    assert ended.code == 0
    assert ended.stdout.split("\n") == [
        "hello", "", "launch: proof: world size 1: 1 host x 1 rank, Horovod not used", "",
    ]  # fmt: skip


def test_a_forked_child_that_leaves_by_its_own_end_proves_nothing(tmp_path: Path) -> None:
    text = "import os, sys\nif os.fork() == 0: sys.exit(0)\nos.wait()\n"
    assert run_guard(tmp_path, text, **ONE_HOST).ours == [
        "launch: proof: world size 1: 1 host x 1 rank, Horovod not used"
    ]


def test_a_script_at_world_size_1_with_horovod_is_proven_once(tmp_path: Path) -> None:
    ended = run_guard(tmp_path, INIT, **ONE_HOST)
    assert ended.ours == ["launch: proof: world size 1: 1 host x 1 rank, Gloo"]


@pytest.mark.parametrize(
    ("job", "kind"), [(ONE_HOST, "builtin"), ({**TWO_HOSTS, **under_mpirun(2)}, "function")]
)
def test_os_exit_is_left_alone_where_there_is_one_rank(
    job: dict[str, str], kind: str, tmp_path: Path
) -> None:
    ended = run_guard(tmp_path, HVD + "import os; print(type(os._exit).__name__)", **job)
    assert ended.printed[0].startswith(kind)


def test_a_script_at_world_size_1_that_fails_is_not_proven(tmp_path: Path) -> None:
    assert "proof" not in run_guard(tmp_path, "import sys; sys.exit(3)", **ONE_HOST).stdout


ENDS = {
    "its last line": "",
    "sys.exit()": "import sys; sys.exit()",
    "sys.exit(0)": "import sys; sys.exit(0)",
    "raise SystemExit": "raise SystemExit",
    "sys.exit(0) in a handler": "import atexit, sys; atexit.register(sys.exit, 0)",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_script_that_never_initialised_horovod_fails_at_its_end(end: str, tmp_path: Path) -> None:
    ended = run_guard(tmp_path, "print('copy')\n" + ENDS[end], **TWO_HOSTS, **under_mpirun(2))
    assert ended.code == 1
    assert "2 independent copies ran" in ended.failure()["reason"]
    assert any("fix: add `import horovod" in line for line in ended.ours)
    assert "copy" in ended.printed


def test_horovod_that_a_thread_or_an_exit_handler_initialises_counts(tmp_path: Path) -> None:
    thread = (
        HVD
        + """
import threading, time
def train():
    time.sleep(0.3)
    hvd.init()
threading.Thread(target=train).start()
"""
    )
    handler = HVD + "import atexit; atexit.register(hvd.init)\n"
    for text in (thread, handler):
        ended = run_guard(tmp_path, text, **TWO_HOSTS, **under_mpirun(2))
        assert (ended.code, len(ended.ours)) == (0, 1), ended.stdout


def test_horovod_may_be_shut_down_and_started_again(tmp_path: Path) -> None:
    text = INIT + "hvd.shutdown()\nhvd.init()\nhvd.shutdown()\n"
    ended = run_guard(tmp_path, text, **TWO_HOSTS, **under_mpirun(2))
    assert ended.code == 0
    assert ended.ours == ["launch: proof: world size 2: 2 hosts x 1 rank, MPI"]


WIPE = (
    "import os\nfor name in [n for n in os.environ if n.startswith('{}')]: del os.environ[name]\n"
)
COMM = HVD + "hvd.init(comm=[0])"

# script; more environment; words
AFTER_INIT = {
    "a controller that the script changed": (
        "import os; os.environ['HOROVOD_CONTROLLER'] = 'gloo'\n" + INIT, {},
        ["the script has changed HOROVOD_CONTROLLER from mpi to gloo"],
    ),
    "a part of the ranks": (COMM, {}, ["called with comm=[0], a part of the ranks"]),
    "a part of the ranks by position": (
        HVD + "hvd.init([0])", {}, ["called with comm=[0], a part of the ranks"],
    ),
    "every variable of mpirun's wiped": (
        WIPE.format("OMPI") + INIT, {},
        ["the script has removed OMPI_COMM_WORLD_SIZE, OMPI_COMM_WORLD_RANK,"],
    ),
    "another MPI": (INIT, {"STANDIN_OTHER_MPI": "1"}, ["another MPI than the mpirun"]),
}  # fmt: skip


@pytest.mark.parametrize("case", AFTER_INIT)
def test_a_size_that_came_out_wrong_ends_the_rank_when_init_returns(
    case: str, tmp_path: Path
) -> None:
    script, environment, words = AFTER_INIT[case]
    text = "try:\n" + "".join(f"    {line}\n" for line in script.splitlines())
    text += "except BaseException: print('caught')\nprint('went on')\n"
    ended = run_guard(tmp_path, text, **{**TWO_HOSTS, **under_mpirun(2), **environment})
    assert ended.code == 1
    assert ended.printed == []
    assert (
        "expected world size 2, rank 0, local size 1, local rank 0, found world size 1"
        in (ended.failure()["reason"])
    )
    for word in words:
        assert word in ended.stdout
    assert "proof" not in ended.stdout


@pytest.mark.parametrize("crash", [False, True])
def test_a_horovod_without_mpi_is_refused_before_init(crash: bool, tmp_path: Path) -> None:
    # A real one that is told to take MPI and has none crashes.
    environment = {**TWO_HOSTS, **under_mpirun(2), "STANDIN_BUILT": "gloo"}
    ended = run_guard(tmp_path, INIT, **environment, **({"STANDIN_CRASH": "1"} if crash else {}))
    assert ended.code == 1
    assert "built without MPI, in which every process is rank 0 of 1" in ended.failure()["reason"]
    assert "launch: fix: build Horovod with HOROVOD_WITH_MPI=1" in ended.ours


def test_one_warning_comes_when_init_is_not_called_for_long(tmp_path: Path) -> None:
    text = "import time\ntime.sleep(1.5)\n" + INIT
    environment = {**TWO_HOSTS, **under_mpirun(2), "LAUNCH_INIT_WARNING_SECONDS": "0.3"}
    ended = run_guard(tmp_path, text, **environment)
    assert ended.code == 0
    warnings = [line for line in ended.ours if line.startswith("launch: warning: ")]
    assert len(warnings) == 1
    assert "hvd.init() has not been called after 0.3 s" in warnings[0]
    alone = run_guard(tmp_path, text, **{**ONE_HOST, "LAUNCH_INIT_WARNING_SECONDS": "0.3"})
    assert "warning" not in alone.stdout


def test_mpi_is_chosen_under_mpirun_unless_the_user_has_chosen(tmp_path: Path) -> None:
    text = INIT + "import os; print(os.environ['HOROVOD_CONTROLLER'])\n"
    environment = {**TWO_HOSTS, **under_mpirun(2)}
    assert run_guard(tmp_path, text, **environment).printed[-1] == "mpi"
    gloo = {"HOROVOD_CONTROLLER": "gloo", "HOROVOD_SIZE": "2"}
    assert run_guard(tmp_path, text, **environment, **gloo).printed[-1] == "gloo"
