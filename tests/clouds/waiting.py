"""Waiting for a job's end and leaving it: nothing that passes is taken for the end."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterable

import pytest

from tests.cli import answers
from tests.fakes.faults import Call, Refuse
from tests.submitting import AnyBench


def read_until(stream: Iterable[str] | None, words: str) -> str:
    """The line that has ``words``."""
    for line in stream or ():
        if words in line:
            return line
    raise AssertionError(f"ended without {words!r}")


class Waiting:
    """What a command does that waits for a job."""

    @pytest.fixture
    def running(self, tried: AnyBench) -> AnyBench:
        """A job in its training that nothing ends."""
        tried.hold()
        assert tried.submit("--detach").code == 0
        (job,) = tried.jobs
        tried.run(job.name)
        return tried

    @pytest.mark.parametrize("verb", ["wait", "submit"])
    def test_credentials_that_expire_while_the_job_runs_are_waited_for(
        self, running: AnyBench, verb: str
    ):
        """Also where no log can be read, and the job alone is asked for."""
        allow_logs = running.deny_logs()
        (job,) = running.jobs
        asked_before = len(running.service.received(running.GET))
        expire = Call(lambda _: running.expire())
        running.service.faults.add(expire, running.GET, after=3, times=1)
        words = ("wait", job.name) if verb == "wait" else running.words()
        process = running.launch.start(*words, **running.environment())
        assert running.SIGN_IN in read_until(process.stderr, "no longer valid")
        running.renew()
        read_until(process.stderr, "answers again")
        assert len(running.service.received(running.GET)) > asked_before + 3
        allow_logs()
        running.finish(job.name)
        assert "succeeded" in process.communicate(timeout=120)[1]
        assert process.returncode == 0

    def test_credentials_that_were_never_good_end_a_wait_at_once(self, running: AnyBench):
        running.expire()
        answer = running.ask("wait", "train")
        assert answer.code == 4
        assert "credentials" in answer.err

    def try_a_busy_log_at_the_end(self, tried: AnyBench, error: Exception) -> None:
        """A log service that is busy at the end is no verdict."""
        fault = tried.service.faults.add(Refuse(error), tried.SEARCH, times=6)
        answer = tried.submit()
        assert answer.code == 0, answer.err
        assert fault.hits == 6
        assert "not proven" not in answer.err

    @pytest.mark.parametrize("words", [("wait",), ("logs", "--follow")])
    def test_an_interrupted_wait_says_that_the_job_goes_on(
        self, running: AnyBench, words: tuple[str, ...]
    ):
        (job,) = running.jobs
        processes: list[subprocess.Popen[str]] = []
        interrupt = Call(lambda _: processes[0].send_signal(signal.SIGINT))
        running.service.faults.add(interrupt, running.GET, after=2, times=1)
        words = (*words, job.name, "--json")
        processes.append(running.launch.start(*words, **running.environment()))
        out, err = processes[0].communicate(timeout=60)
        assert processes[0].returncode == 130
        answers.check(words, 130, out)
        assert f"launch cancel {job.name}" in out
        assert f"{job.name} keeps running" in err
        assert f"launch cancel {job.name}" in err
        assert not running.service.received(running.CANCEL)

    def test_following_that_is_refused_says_that_the_job_goes_on(self, running: AnyBench):
        (job,) = running.jobs
        deny = Call(lambda _: running.deny_get())
        running.service.faults.add(deny, running.READ_LOG, times=1)
        words = running.words("--json")
        process = running.launch.start(*words, **running.environment())
        out, err = process.communicate(timeout=60)
        assert process.returncode == 5
        answers.check(words, 5, out)
        assert running.DENIED in err
        assert f"launch cancel {job.name}" in err

    def test_a_reader_that_goes_away_leaves_the_job_and_is_told(self, running: AnyBench):
        process = running.launch.start(*running.words(), **running.environment())
        assert process.stdout
        process.stdout.close()
        assert process.stderr
        err = process.stderr.read()
        process.stderr.close()
        assert process.wait(60) == 130
        assert "keeps running" in err
        assert "Traceback" not in err

    def test_a_time_limit_of_a_wait_says_where_the_job_stands(self, running: AnyBench):
        answer = running.ask("wait", "train", "--timeout", "1s")
        assert answer.code == 1
        assert running.AT_WORK in answer.err

    def test_a_second_detach_starts_nothing_and_does_not_say_so(self, running: AnyBench):
        answer = running.submit("--detach")
        assert answer.code == 0
        assert "nothing is sent" in answer.err
        assert "started" not in answer.err
        assert len(running.jobs) == 1

    def test_logs_without_a_line_say_so(self, tried: AnyBench):
        tried.hold_before_the_start()
        assert tried.submit("--detach").code == 0
        answer = tried.ask("logs", "train")
        assert (answer.code, answer.out) == (0, "")
        assert "--follow" in answer.err
