"""Ctrl-C while a job is prepared and sent: whoever interrupts knows what is paid for."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from launchers.core.records.ledger import Ledger
from tests.cli.command import Launch
from tests.cli.terminal import on_terminal
from tests.clouds.interrupts import interrupted
from tests.fakes.faults import READ, Call, Refuse
from tests.fakes.job_scenarios import BY_HAND
from tests.fakes.wire import ServiceError
from tests.sagemaker.service.submitting import Bench, bench, proven_job


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    for one in bench(launch):
        one.aws.jobs.scenario = proven_job(paces={"Training": BY_HAND})
        yield one


def hung(tried: Bench, operation: str, interrupts: int, *flags: str) -> str:
    """Submit while a request stays without an answer, and interrupt so often; gives stderr."""
    processes: list[subprocess.Popen[str]] = []
    hangs, goes_on = threading.Event(), threading.Event()

    def hang(_: object) -> None:
        hangs.set()
        goes_on.wait(120)

    tried.aws.faults.add(Call(hang), operation)
    process = tried.launch.start(*tried.words(*flags), **tried.environment())
    processes.append(process)
    assert process.stderr
    told = []
    try:
        if operation == "StopTrainingJob":
            assert process.stdout
            assert "proof" in process.stdout.readline()
        else:
            assert hangs.wait(60)
        process.send_signal(signal.SIGINT)
        if interrupts > 1:
            assert hangs.wait(60)
            # What came of the first is on the screen before the second comes.
            for line in process.stderr:
                told.append(line)
                if "interrupted" in line or operation != "StopTrainingJob":
                    break
            process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=60)
    finally:
        goes_on.set()
    assert process.returncode == 130
    assert "Traceback" not in rest
    return "".join(told) + rest


def test_a_second_interrupt_while_the_job_is_told_to_stop_says_that_it_may_go_on(tried: Bench):
    err = hung(tried, "StopTrainingJob", 2, "--cancel-on-interrupt")
    (job,) = tried.aws.jobs
    assert "the request to stop may be lost" in err
    assert f"launch cancel {job.name}" in err


def test_a_name_that_somebody_else_took_is_not_the_intents(tried: Bench, tmp_path: Path):
    interrupted(tried, "PutObject", point=READ)
    (entry,) = Ledger(tried.launch.home).jobs()
    (tmp_path / "other").mkdir()
    other = Launch(tmp_path / "other", tried.launch.folder)
    assert other(*tried.words("--detach"), **tried.environment()).code == 0
    assert [job.name for job in tried.aws.jobs] == [entry.name]
    assert "prepared but not sent" in tried.ask("list").out
    assert "nothing to stop" in tried.ask("cancel", entry.name).err
    assert not tried.aws.received("StopTrainingJob")
    answer = tried.submit()
    assert answer.code == 5
    assert "the name is taken" in answer.err


def test_a_sweep_tells_every_job_to_stop_that_can_be_told(tried: Bench):
    jobs = ", ".join(f"{{args.seed: {seed}}}" for seed in range(3))
    tried.launch.write("sweep.yaml", f"sweep: {{jobs: [{jobs}]}}\n")
    tried.aws.faults.add(
        Refuse(ServiceError("InternalFailure", "no", 400)), "StopTrainingJob", times=1
    )
    words = tried.words("-f", "sweep.yaml", "--cancel-on-interrupt")
    process = tried.launch.start(*words, **tried.environment())
    assert process.stderr
    running = 0
    while running < 3:
        running += "  running" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "2 jobs asked to stop" in err
    assert "1 job goes on" in err
    assert len(tried.aws.received("StopTrainingJob")) == 3


@pytest.mark.parametrize("words", [(), ("logs", "--follow")], ids=["submitting", "logs"])
def test_a_closed_terminal_ends_the_following_alone(tried: Bench, words: tuple[str, ...]):
    if words:
        assert tried.submit("--detach").code == 0
    (first, *rest) = words or tried.words()
    name = [job.name for job in tried.aws.jobs]
    with on_terminal(tried.launch, first, *name, *rest, **tried.environment()) as terminal:
        terminal.wait_for(b"launch: proof: ")
        (before,) = Ledger(tried.launch.home).jobs()
        terminal.close()
        assert terminal.code() == 130
    (entry,) = Ledger(tried.launch.home).jobs()
    assert (entry.state, entry.reason) == (before.state, before.reason)
    assert not entry.final
    assert not tried.aws.received("StopTrainingJob")
