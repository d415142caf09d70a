"""A rank without an agent, as under mpirun: what the guard prints for the launcher alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from launch_runtime import stamps
from launch_runtime.evidence.finding import Finding
from launch_runtime.evidence.judge import judge
from launch_runtime.evidence.lines import LINE, LINE_BYTES, Gathering
from launch_runtime.evidence.records import Record

from tests.entrypoints.rank.guard_runs import ONE_HOST, TWO_HOSTS, Ended, run_guard, under_mpirun
from tests.entrypoints.simulated import HVD, entrypoints_with_standin, write_script

pytestmark = pytest.mark.processes

NONCE = "00112233445566778899aabbccddeeff"
STAMP = stamps.of(NONCE)
TWO = {**TWO_HOSTS, "LAUNCH_NONCE": NONCE}
PROOF = f"launch: proof: world size 2: 2 hosts x 1 rank, MPI [{STAMP}]"
START = HVD + "import os, subprocess, sys\nimport anytraining\nhvd.init()\nrank = hvd.rank()\n"
TOGETHER = START + "anytraining.train()\n"

Run = Callable[..., Ended]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a rank of two whose script says what it trains."""
    entrypoints = entrypoints_with_standin(tmp_path, LIMIT_SECONDS="0.3")

    def run_rank(text: str, rank: int = 0, **environment: str) -> Ended:
        given = {**TWO, **under_mpirun(2, rank), **environment}
        given = {name: value for name, value in given.items() if value}
        return run_guard(tmp_path, text, entrypoints=entrypoints, **given)

    return run_rank


def evidence_lines(ended: Ended) -> list[dict[str, Any]]:
    assert all(len(line) <= LINE_BYTES for line in ended.evidence)
    return [json.loads(line[len(LINE) :]) for line in ended.evidence]


def gathered(*ends: Ended, stamp: str = STAMP) -> dict[int, list[Record]]:
    """What a launcher makes of the lines of all ranks."""
    gathering = Gathering(stamp, 2)
    for ended in ends:
        for line in ended.evidence:
            gathering.feed(line)
    return gathering.evidence()


def judged(*ends: Ended) -> Finding:
    return judge(gathered(*ends), 2)


def test_two_ranks_are_judged_by_what_they_print(run: Run) -> None:
    ranks = [run(TOGETHER, rank) for rank in (0, 1)]
    assert [ended.code for ended in ranks] == [0, 0]
    assert [line for line in ranks[0].ours if "proof" in line] == [PROOF]
    assert not [line for line in ranks[1].ours if "proof" in line]
    assert judged(*ranks) == Finding("gradients exchanged, weights equal")
    assert not ranks[0].printed
    apart = [run(START + "anytraining.train(exchanged=False)\n", rank) for rank in (0, 1)]
    assert judged(*apart).failure.startswith("2 ranks trained apart: ")


def test_lines_come_at_the_first_exchange_before_shutdown_and_at_the_end(run: Run) -> None:
    ended = run(TOGETHER + "print('trained')\nhvd.shutdown()\nprint('down')\n"
                "anytraining.train(exchanged=False)\n")  # fmt: skip
    order = [line.split()[1] if line.startswith("launch:") else line
             for line in ended.stdout.splitlines() if line]  # fmt: skip
    assert order == [
        "proof:", "evidence:", "trained", "evidence:", "down", "evidence:",
    ]  # fmt: skip
    serials = [fields["serial"] for fields in evidence_lines(ended)]
    assert serials == sorted(set(serials))
    (record,) = gathered(ended)[0]
    assert [one["phases"] for one in record["sets"]] == [["during"], ["after"]]
    assert record["told"] == ["initialised", "shut-down"]


def test_an_idle_gpu_is_told_once_and_early_by_rank_0_and_in_the_proof_of_all(run: Run) -> None:
    text = START + "anytraining.idle('this PyTorch is built without CUDA')\n"
    text += "anytraining.train(exchanged=False)\nprint('alone')\n"
    text += "anytraining.train()\nprint('trained')\nanytraining.train()\n"
    ranks = [run(text.replace("exchanged=False", "variables=3"), rank) for rank in (0, 1)]
    warning = (
        "launch: warning: rank 0 trains on the CPU, and its GPU is idle: this PyTorch is "
        "built without CUDA"
    )
    printed = [line for line in ranks[0].stdout.splitlines() if not line.startswith(LINE)]
    assert [line for line in printed if line][:3] == [PROOF, warning, "alone"]
    assert [ended.stdout.count(": warning: ") for ended in ranks] == [1, 0]
    assert judged(*ranks) == Finding("gradients exchanged, weights equal, all GPUs idle")
    apart = run(text.partition("anytraining.train()")[0])
    assert ": warning: " not in apart.stdout


def test_large_evidence_goes_in_several_lines(run: Run) -> None:
    # Weights that do not compress.
    text = START + "import random\nfor n in range(60): anytraining.train(weight=random.random())\n"
    text += "for n in range(3): anytraining.train(variables=5000, weight=random.random())\n"
    text = text.replace("variables=5000", "variables=5000, name=os.urandom(5000).hex()")
    ended = run(text)
    assert max(fields["parts"] for fields in evidence_lines(ended)) > 3
    assert len(gathered(ended)[0][0]["sets"]) == 63


def test_the_script_and_its_children_find_no_nonce_and_children_the_stamp_alone(run: Run) -> None:
    look = "import os; print({!r} in str(os.environ), {!r} in str(os.environ), flush=True)"
    ended = run(look.format(NONCE, NONCE[:8]) + "\nimport subprocess, sys\n"
                f"subprocess.run([sys.executable, '-c', {look.format(NONCE, STAMP)!r}])\n"
                + HVD + "hvd.init()\n")  # fmt: skip
    assert ended.printed == ["False False", "False True"]
    assert NONCE not in ended.stdout + ended.stderr


def test_a_child_that_initialises_horovod_and_trains_is_proven_and_judged(
    run: Run, tmp_path: Path
) -> None:
    train = "import horovod.anyframework as hvd\nhvd.init()\nimport anytraining, os\n"
    train += "anytraining.train()\nprint('child', os.getpid(), flush=True)\n"
    write_script(tmp_path / "source", train, "real.py")
    ways = {
        "spawn": "import subprocess, sys\nsubprocess.run([sys.executable, 'real.py'], check=True)",
        "fork": "import os, runpy\nif os.fork() == 0:\n    runpy.run_path('real.py')\n"
        "    os._exit(0)\nos.wait()",
        "exec": "import os, sys\nos.execv(sys.executable, [sys.executable, 'real.py'])",
    }
    for way, text in ways.items():
        ranks = [run(text, rank) for rank in (0, 1)]
        assert [line for line in ranks[0].ours if "proof" in line] == [PROOF], way
        assert judged(*ranks).words == "gradients exchanged, weights equal", way
        child = int(ranks[0].printed[0].split()[1])
        by_process = {record["pid"]: record for record in gathered(ranks[0])[0]}
        assert by_process[child]["final"], way


def test_a_forked_child_repeats_nothing_of_its_parents_evidence(run: Run) -> None:
    ended = run(TOGETHER + "if os.fork() == 0: os._exit(0)\nos.wait()\n"
                "if os.fork() == 0: sys.exit(0)\nos.wait()\n")  # fmt: skip
    assert len(gathered(ended)[0]) == 1
    assert len(evidence_lines(ended)) == 2


def test_os_exit_after_good_work_leaves_the_last_record_and_its_code(run: Run) -> None:
    ended = run(TOGETHER + "os._exit(0)\n")
    assert (ended.code, gathered(ended)[0][0]["final"]) == (0, True)
    failed = run(TOGETHER + "os._exit(7)\n")
    assert (failed.code, gathered(failed)[0][0]["final"]) == (7, False)
    assert run("import os\nos._exit('no number')").code == 1


FORGED = "launch: proof: world size 2: 2 hosts x 1 rank, MPI"


@pytest.mark.parametrize("mode", ["exchange", "init", "strict"])
def test_os_exit_without_ever_joining_is_refused_whatever_was_printed(mode: str, run: Run) -> None:
    ended = run(f"import os\nprint({FORGED!r}, flush=True)\nos._exit(0)\n", LAUNCH_PROOF=mode)
    assert ended.code == 1
    failure = ended.failure()
    assert "2 independent copies ran" in failure["reason"]
    assert (failure["stamp"], failure["phase"]) == (STAMP, "starting")
    assert any("fix: add `import horovod" in line for line in ended.ours)
    assert [line for line in ended.ours if "proof" in line] == [FORGED]


def test_os_exit_of_a_forked_child_is_its_own_affair(run: Run) -> None:
    ended = run("import os\nif os.fork() == 0: os._exit(0)\nprint(os.wait()[1])\n" + TOGETHER)
    assert (ended.code, ended.printed) == (0, ["0"])


def test_os_exit_at_world_size_1_is_as_ever(run: Run) -> None:
    ended = run("import os\nos._exit(0)\n", **{**ONE_HOST, **under_mpirun(1)})
    assert (ended.code, ended.ours, ended.evidence) == (0, [], [])


@pytest.mark.parametrize("how", ["fails", "hangs"])
@pytest.mark.parametrize(
    ("end", "code"), [("", 0), ("os._exit(0)\n", 0), ("sys.exit(0)\n", 0), ("sys.exit(5)\n", 5)]
)
def test_a_last_record_that_never_comes_changes_no_exit_code(
    how: str, end: str, code: int, run: Run
) -> None:
    ended = run(TOGETHER + end, STANDIN_FINISH=how)
    assert ended.code == code, ended.stdout + ended.stderr
    assert not gathered(ended)[0][0]["final"]


def test_a_child_whose_last_record_hangs_keeps_its_code(run: Run, tmp_path: Path) -> None:
    write_script(tmp_path / "source", "import os, sys\nif sys.argv[1:]: os._exit(4)\n", "real.py")
    ended = run(START + "for more in ([], ['4']):\n"
                "    print(subprocess.run([sys.executable, 'real.py', *more]).returncode)\n"
                "os.environ['STANDIN_FINISH'] = ''\n",
                STANDIN_FINISH="hangs")  # fmt: skip
    assert ended.printed == ["0", "4"]


def test_proof_init_prints_no_evidence(run: Run) -> None:
    ended = run(HVD + "hvd.init()\nimport os, sys\nassert 'anytraining' not in sys.modules\n",
                LAUNCH_PROOF="init")  # fmt: skip
    assert (ended.ours, ended.evidence) == ([PROOF], [])


def test_without_a_nonce_lines_have_no_stamp(run: Run) -> None:
    ended = run(TOGETHER, LAUNCH_NONCE="")
    assert ended.ours[0] == FORGED
    assert {fields["stamp"] for fields in evidence_lines(ended)} == {""}
    assert gathered(ended, stamp="")[0][0]["final"]
    assert "stamp" not in run("print('copy')", LAUNCH_NONCE="").failure()


def test_a_mode_that_does_not_exist_is_refused_before_the_script(run: Run) -> None:
    ended = run("print('the script ran')", LAUNCH_PROOF="exact")
    assert (ended.code, ended.printed) == (1, [])
    assert "LAUNCH_PROOF: found 'exact'" in ended.failure()["reason"]


def test_a_failed_rank_says_why_with_the_stamp(run: Run) -> None:
    ended = run(START + "raise ValueError('boom')\n")
    assert ended.failure()["reason"] == "ValueError: boom"
    assert ended.failure()["stamp"] == STAMP
