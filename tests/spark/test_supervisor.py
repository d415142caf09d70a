"""The process that owns a Spark job, with a spark-submit whose end is known."""

from __future__ import annotations

import signal
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from launchers.spark.service.in_cluster import ending_command
from tests.spark.supervised import NONCE, PROOF, STAMP, Job, in_cluster, made, says_result
from tests.waiting import until

pytestmark = pytest.mark.processes

SAYS_PROOF = f"print('[w-1/0] launch: proof: {PROOF} [{STAMP}]', flush=True)\n"
ENDLESS = "import time\nprint('[w-1/0] stepping', flush=True)\ntime.sleep(600)\n"
Made = Callable[..., Job]


@pytest.fixture
def job(tmp_path: Path) -> Made:
    """Makes a job of this test."""
    return partial(made, tmp_path)


def test_a_job_is_proven_by_the_drivers_line(job: Made) -> None:
    ran = job(
        "print('from the driver')\nprint('env', os.environ['LAUNCH_NONCE'], "
        "os.environ.get('PYSPARK_PYTHON'), os.environ['SPARK_HOME'])\n"
        "spark = [name for name in os.environ if name.startswith('SPARK_')]\n"
        "print('connect', [name for name in spark if 'REMOTE' in name or 'CONNECT' in name])\n"
        "print('24/01/01 00:00:00 WARN TaskSetManager: Lost', file=sys.stderr)\n" + SAYS_PROOF
    )
    result = ran.run()
    assert (result["state"], result["proof"]) == ("succeeded", PROOF)
    assert result["exit_codes"] == {"spark-submit": 0}
    assert "[driver/agent] from the driver\n" in ran.log
    assert f"[driver/agent] env *** None {ran.folder}/spark\n" in ran.log
    assert "[driver/agent] connect []\n" in ran.log
    assert "WARN TaskSetManager" not in ran.log
    assert "WARN TaskSetManager: Lost" in (ran.folder / "logs" / "spark.log").read_text()
    assert not [word for word in ran.arguments if NONCE in word]


def test_an_exit_code_of_0_proves_nothing(job: Made) -> None:
    result = job("").run()
    assert result["state"] == "not proven"
    assert "no line of its output proves world size 2" in result["reason"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "print('Error: no such jar', file=sys.stderr)\nsys.exit(1)\n",
            "spark-submit ended with exit code 1: no such jar",
        ),
        ("os.kill(os.getpid(), 9)\n", "spark-submit ended with signal SIGKILL"),
        (
            says_result("failed", reason="1 of 2 slots") + "sys.exit(1)\n",
            "1 of 2 slots",
        ),
        (SAYS_PROOF + "sys.exit(7)\n", "spark-submit ended with exit code 7"),
        (SAYS_PROOF + says_result("failed", reason="rank 1 is missing"), "rank 1 is missing"),
    ],
)
def test_a_job_that_failed_says_why(job: Made, body: str, reason: str) -> None:
    result = job(body).run()
    assert (result["state"], result["reason"]) == ("failed", reason)


@pytest.mark.parametrize(
    ("rank", "reason"),
    [(1, "rank 1 on w-1 failed first: no such layer"), (None, "no such layer")],
)
def test_the_rank_that_failed_is_named_and_what_no_rank_did_is_laid_on_none(
    job: Made, rank: int | None, reason: str
) -> None:
    failure = {"rank": rank, "host": "w-1", "reason": "no such layer", "stamp": STAMP}
    body = f"print('[driver/agent] launch: failure:', json.dumps({failure!r}))\n"
    result = job(body + says_result("failed", reason="no such layer") + "sys.exit(1)\n").run()
    assert (result["state"], result["reason"]) == ("failed", reason)


def test_what_outlives_spark_submit_and_holds_its_output_does_not_hold_the_job(job: Made) -> None:
    ran = job("import subprocess\nsubprocess.Popen(['sleep', '600'])\n" + SAYS_PROOF)
    assert ran.run()["state"] == "succeeded"
    assert ran.processes() == {}


def test_sparks_own_words_are_shown_where_nothing_else_explains_a_failure(job: Made) -> None:
    ran = job("print('what Spark says', file=sys.stderr)\nsys.exit(1)\n")
    ran.run()
    assert "[driver/agent] spark: what Spark says\n" in ran.log
    assert "Spark's own log is" in ran.log


def test_a_driver_in_the_cluster_is_believed_by_its_result_and_not_by_the_exit_code(
    job: Made,
) -> None:
    ran = job(says_result(proof=PROOF) + "sys.exit(1)\n", **in_cluster())
    result = ran.run()
    assert (result["state"], result["proof"]) == ("succeeded", PROOF)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("", "and the driver left no"),
        (says_result(stamp="another", proof=PROOF), "and the driver left no"),
        (says_result("failed", reason="rank 1 failed", failed_rank=1), "rank 1 failed"),
    ],
)
def test_a_driver_in_the_cluster_that_left_no_good_result_has_failed(
    job: Made, body: str, reason: str
) -> None:
    result = job(body, **in_cluster()).run()
    assert result["state"] == "failed"
    assert reason in result["reason"]


def test_what_a_driver_in_the_cluster_left_is_shown(job: Made) -> None:
    ran = job(
        says_result(
            "failed",
            reason="rank 1 failed",
            fix="mend it",
            failed_rank=1,
            ranks=[{"rank": 1, "host": "w-2"}],
            last_lines=["ValueError: no"],
        ),
        **in_cluster(),
    )
    assert ran.run()["fix"] == "mend it"
    assert "[w-2/1] ValueError: no\n" in ran.log
    assert "[driver/agent] launch: rank 1 failed\n" in ran.log


def test_a_secret_property_goes_by_a_file_of_its_owners_beside_the_users_defaults(
    job: Made,
) -> None:
    ran = job("", **in_cluster())
    defaults = ran.folder / "spark" / "conf" / "spark-defaults.conf"
    defaults.parent.mkdir()
    defaults.write_bytes(b"# K\xf6ln\nspark.eventLog.enabled true")
    ran.run()
    file = Path(ran.arguments[ran.arguments.index("--properties-file") + 1])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_bytes().split(b"\n")[0] == b"# K\xf6ln"
    assert file.read_text("latin-1").split("\n")[1:] == [
        "spark.eventLog.enabled true",
        "",
        f"spark.yarn.appMasterEnv.LAUNCH_NONCE={NONCE}",
        "",
    ]
    assert not [word for word in ran.arguments if NONCE in word]


def yarn_in(scratch: Path) -> Path:
    """A `yarn` on the job's PATH; gives the file in which it leaves its words."""
    yarn, said = scratch / "bin" / "yarn", scratch / "said"
    yarn.parent.mkdir()
    yarn.write_text(f'#!/bin/sh\necho "$@" > {said}\necho "Error: of yarn itself"\n')
    yarn.chmod(0o755)
    return said


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "sys.exit(1)"])
def test_what_a_spark_submit_that_failed_leaves_in_the_cluster_is_ended_there(
    job: Made, tmp_path: Path, end: str
) -> None:
    accepted = "print('INFO Client: application_17_0001', file=sys.stderr, flush=True)\n"
    said = yarn_in(tmp_path)
    result = job(f"{accepted}{end}\n", **in_cluster()).run()
    assert result["state"] == "failed"
    assert "the driver left no" in result["reason"]
    assert "of yarn itself" not in result["reason"]
    assert said.read_text() == "application -kill application_17_0001\n"


def test_a_driver_of_kubernetes_is_ended_where_it_was_started() -> None:
    told = {
        "spark.executor.memory": "1g",
        "spark.kubernetes.context": "ml",
        "spark.kubernetes.driverEnv.LAUNCH_NONCE": NONCE,
    }
    document: dict[str, Any] = {
        **{"master": "k8s://https://h:6443", "deploy_mode": "cluster", "spark_home": "/spark"},
        **{"conf": told, "name": "job", "files": [], "archives": [], "arguments": []},
        "application": "spark_driver.py",
    }
    assert ending_command(document, "ml:job-driver") == [
        *("/spark/bin/spark-submit", "--kill", "ml:job-driver"),
        *("--master", "k8s://https://h:6443", "--conf", "spark.kubernetes.context=ml"),
    ]


def test_what_ended_by_the_drivers_own_word_is_not_ended_again(job: Made, tmp_path: Path) -> None:
    accepted = "print('INFO Client: application_17_0001', file=sys.stderr, flush=True)\n"
    said = yarn_in(tmp_path)
    body = f"{accepted}{says_result(proof=PROOF)}sys.exit(1)\n"
    assert job(body, **in_cluster()).run()["state"] == "succeeded"
    assert not said.exists()


@pytest.mark.parametrize("known", ["before", "after"])
def test_a_stopped_application_of_a_cluster_is_ended_there(
    job: Made, tmp_path: Path, known: str
) -> None:
    says = "'INFO Client: Submitted application application_17_0001', file=sys.stderr, flush=True"
    # One that is accepted while its job is being stopped.
    late = (
        f"import signal, time\nsignal.signal(signal.SIGTERM, lambda *_: print({says}))\n"
        "print('[w-1/0] stepping', flush=True)\n"
        f"while not os.path.exists({str(tmp_path / 'said')!r}): time.sleep(0.05)\n"
    )
    ran = job(f"print({says})\n{ENDLESS}" if known == "before" else late, **in_cluster())
    said = yarn_in(tmp_path)
    with ran.start() as supervisor:
        until(lambda: "stepping" in ran.log, "stepping")
        supervisor.send_signal(signal.SIGTERM)
        supervisor.wait(120)
    assert ran.result["state"] == "stopped"
    assert said.read_text() == "application -kill application_17_0001\n"


def test_a_stopped_job_ends_its_whole_group(job: Made) -> None:
    ran = job("import subprocess\nsubprocess.Popen(['sleep', '600'])\n" + ENDLESS)
    with ran.start() as supervisor:
        until(lambda: "stepping" in ran.log, "stepping")
        supervisor.send_signal(signal.SIGTERM)
        supervisor.wait(120)
    assert (ran.result["state"], ran.result["reason"]) == ("stopped", "stopped by its user")
    assert ran.processes() == {}


def test_spark_submit_ends_with_a_supervisor_that_is_killed(job: Made) -> None:
    ran = job(ENDLESS)
    with ran.start() as supervisor:
        until(lambda: "stepping" in ran.log, "stepping")
        supervisor.kill()
        supervisor.wait(120)
    until(lambda: not ran.processes(), "spark-submit has ended")


def test_a_time_limit_ends_the_job(job: Made) -> None:
    result = job(ENDLESS, max_runtime_seconds=1).run()
    assert result["state"] == "timed out"
