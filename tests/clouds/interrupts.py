"""Ctrl-C while a job is prepared and sent: whoever interrupts knows what is paid for."""

from __future__ import annotations

import os
import signal
import subprocess
import threading

import pytest

from launchers.core.records.entry import INTENT
from launchers.core.records.ledger import Ledger
from tests.cli import answers
from tests.fakes.faults import HANDLED, READ, Call, ConnectionLostError
from tests.submitting import AnyBench


def interrupted(tried: AnyBench, operation: str, *flags: str, point: str = HANDLED) -> str:
    """Submit, and send SIGINT when that request comes; gives stderr."""
    processes: list[subprocess.Popen[str]] = []

    def interrupt(_: object) -> None:
        os.kill(processes[0].pid, signal.SIGINT)
        raise ConnectionLostError("reset")

    tried.service.faults.add(Call(interrupt), operation, times=1, point=point)
    words = tried.words("--json", *flags)
    processes.append(tried.launch.start(*words, **tried.environment()))
    out, err = processes[0].communicate(timeout=60)
    assert processes[0].returncode == 130, err
    answers.check(words, 130, out)
    assert "Traceback" not in err
    return err


class Interrupts:
    """Jobs that run until somebody ends them."""

    @pytest.fixture(autouse=True)
    def held(self, tried: AnyBench) -> None:
        tried.hold()

    @pytest.mark.parametrize("step", ["CHECK", "LOOK", "STORE"])
    def test_before_the_job_is_sent_nothing_is_paid_for_and_it_says_so(
        self, tried: AnyBench, step: str
    ):
        assert "nothing was sent" in interrupted(tried, getattr(tried, step))
        assert not len(tried.jobs)
        tried.let_go()
        assert tried.submit().code == 0
        assert [job.name[-2:] for job in tried.jobs] == ["-1"]

    def test_while_the_job_is_sent_it_says_that_the_job_goes_on(self, tried: AnyBench):
        err = interrupted(tried, tried.CREATE)
        (job,) = tried.jobs
        assert f"{job.name} was sent, keeps running, and costs money" in err
        assert f"launch cancel {job.name}" in err
        assert tried.ask("cancel", job.name).code == 0
        assert tried.is_stopped(job)

    def test_while_the_job_is_sent_it_ends_the_job_if_it_was_told_to(self, tried: AnyBench):
        err = interrupted(tried, tried.CREATE, "--cancel-on-interrupt")
        (job,) = tried.jobs
        assert f"{job.name} was sent already, and has been asked to stop" in err
        assert tried.service.received(tried.CANCEL)

    def test_a_request_that_did_not_arrive_is_not_called_a_job(self, tried: AnyBench):
        err = interrupted(tried, tried.CREATE, point=READ)
        assert "may have been sent" in err
        assert not len(tried.jobs)
        (entry,) = Ledger(tried.launch.home).jobs()
        assert entry.state == INTENT
        told = tried.ask("cancel", entry.name)
        assert told.code == 0
        assert "nothing to stop" in told.err

    def test_a_check_that_gets_no_answer_does_not_keep_the_command_from_ending(
        self, tried: AnyBench
    ):
        hangs, goes_on = threading.Event(), threading.Event()

        def hang(_: object) -> None:
            hangs.set()
            goes_on.wait(120)

        tried.service.faults.add(Call(hang), tried.CHECK)
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
        assert not tried.service.received(tried.CREATE)

    def test_a_sweep_names_the_jobs_that_were_on_their_way(self, tried: AnyBench):
        tried.launch.write("sweep.yaml", "sweep: {jobs: [{args.seed: 0}, {args.seed: 1}]}\n")
        processes: list[subprocess.Popen[str]] = []
        interrupt = Call(lambda _: os.kill(processes[0].pid, signal.SIGINT))
        tried.service.faults.add(interrupt, tried.CREATE, times=1, point=READ)
        words = tried.words("-f", "sweep.yaml", "--max-parallel", "1", "--json")
        processes.append(tried.launch.start(*words, **tried.environment()))
        out, err = processes[0].communicate(timeout=60)
        assert processes[0].returncode == 130
        answers.check(words, 130, out)
        (job,) = tried.jobs
        assert f"1 job goes on: {job.name}" in err
