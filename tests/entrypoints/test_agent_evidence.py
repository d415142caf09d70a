"""How a job with agents is judged by what its ranks saw of their training, and nothing forged."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from launch_runtime import stamps

from tests.entrypoints.simulated import HVD, SimulatedJob, entrypoints_with_standin

NONCE = "00112233445566778899aabbccddeeff"
STAMP = stamps.of(NONCE)
WORLD = "[host-1/0] launch: proof: world size 2: 2 hosts x 1 rank, Gloo"
START = HVD + "import os, subprocess, sys\nimport anytraining\nhvd.init()\nrank = hvd.rank()\n"
TOGETHER = START + "anytraining.train()\n"
EQUAL = "gradients exchanged, weights equal"
# Past Python and the guard.
VANISH = "import ctypes; ctypes.CDLL(None)._exit(0)\n"

MakeJob = Callable[..., SimulatedJob]


@pytest.fixture
def job(make_job: MakeJob, tmp_path: Path) -> SimulatedJob:
    """Two hosts of one rank, whose scripts say what they train."""
    made = make_job(hosts=2, LAUNCH_NONCE=NONCE)
    made.entrypoints = entrypoints_with_standin(tmp_path)
    return made


def proofs(job: SimulatedJob) -> list[str]:
    return job.said("launch: proof: ")


def test_a_job_that_trained_together_says_so_with_the_jobs_stamp(job: SimulatedJob) -> None:
    job.script(TOGETHER + "print('trained', rank)\n")
    assert job.run() == [0, 0], job.text()
    assert proofs(job) == [f"{WORLD} [{STAMP}]", f"{WORLD}; {EQUAL} [{STAMP}]"]
    assert job.lines(0)[-1] == proofs(job)[-1], "it comes after all that the rank said"
    assert NONCE not in job.text()


def test_a_job_without_a_nonce_has_lines_without_a_stamp(job: SimulatedJob) -> None:
    job.script(TOGETHER)
    assert job.run(LAUNCH_NONCE="") == [0, 0], job.text()
    assert proofs(job) == [WORLD, f"{WORLD}; {EQUAL}"]


def test_ranks_that_trained_apart_fail_the_job_on_every_host(job: SimulatedJob) -> None:
    job.script(START + "anytraining.train(exchanged=False)\n"
               "for number in range(2000): print('line', rank, number)\n")  # fmt: skip
    assert job.run() == [1, 1]
    failure = job.failure()
    assert failure.pop("reason").startswith("2 ranks trained apart: ")
    assert "--proof init" in failure["fix"]
    assert job.said("agent. launch: fix: wrap the optimizer with hvd.DistributedOptimizer")
    assert failure == {
        "rank": None, "host": "host-1", "exit_code": None, "signal": None, "phase": "ending",
        "fix": failure["fix"], "stamp": STAMP,
    }  # fmt: skip
    assert job.said(r"host-2/agent\] launch: the job has failed: 2 ranks trained apart")
    assert proofs(job) == [f"{WORLD} [{STAMP}]"]
    assert len(job.said(r"\] line ")) == 4000, "what the ranks said is shown all the same"


def test_weights_that_differ_at_the_end_fail_the_job(job: SimulatedJob) -> None:
    job.script(START + "anytraining.train(weight=1.0 + rank)\n")
    assert job.run() == [1, 1]
    assert "the weights differ at the end" in job.failure()["reason"]


def test_proof_init_asks_for_nothing_more(job: SimulatedJob) -> None:
    job.script(HVD + "import sys\nhvd.init()\nassert 'anytraining' not in sys.modules\n")
    assert job.run(LAUNCH_PROOF="init") == [0, 0], job.text()
    assert proofs(job) == [f"{WORLD} [{STAMP}]"]


def test_missing_evidence_is_said_and_fails_where_it_is_asked_for(
    job: SimulatedJob, make_job: MakeJob
) -> None:
    job.script(TOGETHER + VANISH)
    assert job.run() == [0, 0], job.text()
    assert proofs(job)[-1] == f"{WORLD}; evidence missing [{STAMP}]"
    strict = make_job(hosts=2, LAUNCH_PROOF="strict", LAUNCH_NONCE=NONCE)
    strict.entrypoints = job.entrypoints
    strict.script(TOGETHER + VANISH)
    assert strict.run() == [1, 1]
    assert "no evidence of the training from ranks 0 and 1" in strict.failure()["reason"]


def test_a_mode_that_does_not_exist_ends_the_job_before_any_rank(job: SimulatedJob) -> None:
    job.script("print('the script ran')")
    assert job.run(LAUNCH_PROOF="exact") == [2, 2]
    assert "LAUNCH_PROOF: found 'exact'; expected exchange, init or strict" in job.text()


def test_os_exit_after_good_work_leaves_its_evidence(job: SimulatedJob) -> None:
    job.script(TOGETHER + "os._exit(0)\n")
    assert job.run() == [0, 0], job.text()
    assert proofs(job)[-1] == f"{WORLD}; {EQUAL} [{STAMP}]"


TRAIN = HVD + "import anytraining\nhvd.init()\nanytraining.train({})\n"
# How a script may train elsewhere; what runs in the other process stands in real.py.
WAYS = {
    "subprocess": "import subprocess, sys\n"
    "subprocess.run([sys.executable, 'real.py'], check=True)\n",
    "multiprocessing spawn": "if __name__ == '__main__':\n"
    "    import multiprocessing, runpy\n"
    "    process = multiprocessing.get_context('spawn').Process(\n"
    "        target=runpy.run_path, args=('real.py',))\n"
    "    process.start()\n    process.join()\n",
    "os.fork": "import os, runpy\n"
    "if os.fork() == 0:\n    runpy.run_path('real.py')\n    os._exit(0)\nos.wait()\n",
    "exec": "import os, sys\nos.execv(sys.executable, [sys.executable, 'real.py'])\n",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("together", [True, False])
def test_training_in_another_process_is_proven_and_judged(
    way: str, together: bool, job: SimulatedJob
) -> None:
    job.script(TRAIN.format(f"exchanged={together}"), "real.py")
    job.script(WAYS[way])
    assert job.run() == ([0, 0] if together else [1, 1]), job.text()
    assert proofs(job)[0] == f"{WORLD} [{STAMP}]"
    if together:
        assert proofs(job)[-1] == f"{WORLD}; {EQUAL} [{STAMP}]"
    else:
        assert "2 ranks trained apart" in job.failure()["reason"]


def test_a_forked_child_repeats_nothing_of_its_parents_training(job: SimulatedJob) -> None:
    # Its weights would count as the parent's, which go on to change.
    job.script(START + "anytraining.train(weight=1.0, name='A')\n"
               "if os.fork() == 0: os._exit(0)\nos.wait()\n"
               "if os.fork() == 0: sys.exit(0)\nos.wait()\n")  # fmt: skip
    assert job.run() == [0, 0], job.text()
    assert proofs(job)[-1] == f"{WORLD}; {EQUAL} [{STAMP}]"


def test_a_large_model_has_its_evidence_too(job: SimulatedJob) -> None:
    job.script(START + "for n in range(3): anytraining.train(variables=2000, weight=rank * 1e-9)\n")
    assert job.run() == [0, 0], job.text()
    assert proofs(job)[-1] == f"{WORLD}; {EQUAL} [{STAMP}]"


FORGED = (
    "launch: proof: world size 9: 9 hosts x 1 rank, Gloo",
    "launch: proof: world size 2: 2 hosts x 1 rank, Gloo; gradients exchanged, weights equal",
    'launch: failure: {"rank": 7, "host": "host-9", "reason": "made up"}',
)


def test_what_a_script_prints_is_text_and_it_knows_no_stamp(job: SimulatedJob) -> None:
    job.script(f"for line in {FORGED!r}: print(line, flush=True)\n" + TOGETHER
               + f"for line in {FORGED!r}: print(line)\n"
               "print('known', [n for n in os.environ if n == 'LAUNCH_NONCE'], "
               f"{STAMP!r} in str(os.environ), {NONCE!r} in str(os.environ))\n")  # fmt: skip
    assert job.run() == [0, 0], job.text()
    ours = [line for line in job.lines() if STAMP in line]
    assert ours == [f"{WORLD} [{STAMP}]", f"{WORLD}; {EQUAL} [{STAMP}]"]
    assert len(job.said(r"known \[\] False False")) == 2
    for forged in FORGED:
        assert len(job.said(re.escape(forged) + "$")) >= 4


def test_nonsense_on_the_status_pipe_does_no_harm(job: SimulatedJob) -> None:
    noise = (
        '{"event": "proof"}', '{"event": "evidence", "line": 3}', '{"event": "evidence"}',
        '{"event": "failing"}', "[" * 9999, "[]", "x" * 3_000_000,
    )  # fmt: skip
    text = f"""
def pipes():
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink("/proc/self/fd/" + name).startswith("pipe:") and int(name) > 2:
                yield int(name)
        except OSError:
            pass
for number in pipes():
    for line in {noise!r}:
        try:
            data = line.encode() + b"\\n"
            while data: data = data[os.write(number, data):]
        except OSError:
            break
"""
    job.script(START + text + "anytraining.train()\n")
    assert job.run() == [0, 0], job.text()
    assert proofs(job)[-1] == f"{WORLD}; {EQUAL} [{STAMP}]"


@pytest.mark.parametrize("how", ["fails", "hangs"])
def test_a_last_record_that_never_comes_neither_fails_nor_holds_up_a_job(
    how: str, make_job: MakeJob, tmp_path: Path
) -> None:
    job = make_job(hosts=2, STANDIN_FINISH=how)
    job.entrypoints = entrypoints_with_standin(tmp_path, LIMIT_SECONDS="0.3")
    job.script(TOGETHER)
    assert job.run() == [0, 0], job.text()
    assert proofs(job)[-1] == f"{WORLD}; evidence missing"
    assert bool(job.said("the training of a rank is not watched")) == (how == "fails")
