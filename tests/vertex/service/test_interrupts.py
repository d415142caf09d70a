"""Ctrl-C while a CustomJob is prepared and sent: whoever interrupts knows what is paid for."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator

import pytest

from launchers.core.records.ledger import INTENT, Ledger
from tests.cli.command import Launch
from tests.fakes.faults import HANDLED, READ, Call, ConnectionLostError
from tests.fakes.job_scenarios import BY_HAND
from tests.vertex.service.submitting import Bench, bench, proven_job


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    for one in bench(launch):
        one.google.jobs.scenario = proven_job(paces={"RUNNING": BY_HAND})
        yield one


def interrupted(tried: Bench, operation: str, *flags: str, point: str = HANDLED) -> str:
    """Submit, and send SIGINT when that request comes; gives stderr."""
    processes: list[subprocess.Popen[str]] = []

    def interrupt(_: object) -> None:
        os.kill(processes[0].pid, signal.SIGINT)
        raise ConnectionLostError("reset")

    tried.google.faults.add(Call(interrupt), operation, times=1, point=point)
    processes.append(tried.launch.start(*tried.words(*flags), **tried.environment()))
    _, err = processes[0].communicate(timeout=60)
    assert processes[0].returncode == 130, err
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize("operation", ["tags.get", "objects.get", "objects.insert"])
def test_before_the_job_is_sent_nothing_is_paid_for_and_it_says_so(tried: Bench, operation: str):
    assert "nothing was sent" in interrupted(tried, operation)
    assert not len(tried.google.jobs)
    tried.google.jobs.scenario = proven_job()
    assert tried.submit().code == 0
    assert [job.name[-2:] for job in tried.google.jobs] == ["-1"]


def test_while_the_job_is_sent_it_says_that_the_job_goes_on(tried: Bench):
    err = interrupted(tried, "customJobs.create")
    (job,) = tried.google.jobs
    assert f"{job.name} was sent and goes on, and is paid for" in err
    assert f"launch cancel {job.name}" in err
    assert tried.ask("cancel", job.name).code == 0
    assert job.state in ("CANCELLING", "CANCELLED")


def test_while_the_job_is_sent_it_ends_the_job_if_it_was_told_to(tried: Bench):
    err = interrupted(tried, "customJobs.create", "--cancel-on-interrupt")
    (job,) = tried.google.jobs
    assert f"{job.name} had been sent, and is told to stop" in err
    assert tried.google.received("customJobs.cancel")


def test_a_request_that_did_not_arrive_is_not_called_a_job(tried: Bench):
    err = interrupted(tried, "customJobs.create", point=READ)
    assert "may have been sent" in err
    assert not len(tried.google.jobs)
    (entry,) = Ledger(tried.launch.home).jobs()
    assert entry.state == INTENT
    told = tried.ask("cancel", entry.name)
    assert told.code == 0
    assert "nothing to stop" in told.err


def test_a_check_that_gets_no_answer_does_not_keep_the_command_from_ending(tried: Bench):
    hangs, goes_on = threading.Event(), threading.Event()

    def hang(_: object) -> None:
        hangs.set()
        goes_on.wait(120)

    tried.google.faults.add(Call(hang), "tags.get")
    process = tried.launch.start(*tried.words(), **tried.environment())
    try:
        assert hangs.wait(60)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        goes_on.set()
    assert process.returncode == 130
    assert "nothing was sent" in err
    assert "Traceback" not in err
    assert not tried.google.received("customJobs.create")


def test_a_sweep_names_the_jobs_that_were_on_their_way(tried: Bench):
    tried.launch.write("sweep.yaml", "sweep: {jobs: [{args.seed: 0}, {args.seed: 1}]}\n")
    processes: list[subprocess.Popen[str]] = []
    interrupt = Call(lambda _: os.kill(processes[0].pid, signal.SIGINT))
    tried.google.faults.add(interrupt, "customJobs.create", times=1, point=READ)
    words = tried.words("-f", "sweep.yaml", "--max-parallel", "1")
    processes.append(tried.launch.start(*words, **tried.environment()))
    _, err = processes[0].communicate(timeout=60)
    assert processes[0].returncode == 130
    (job,) = tried.google.jobs
    assert f"1 job goes on: {job.name}" in err
