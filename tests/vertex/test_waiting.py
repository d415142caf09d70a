"""Waiting for a CustomJob's end and leaving it: nothing that passes is taken for the end."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterable, Iterator

import pytest

from tests.cli.command import Launch
from tests.fakes.faults import Call, Refuse
from tests.fakes.google_wire import TOO_MANY_READS
from tests.fakes.job_scenarios import BY_HAND
from tests.vertex.service.submitting import Bench, bench, proven_job


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


@pytest.fixture
def running(tried: Bench) -> Bench:
    """A job in its training that nothing ends."""
    tried.google.jobs.scenario = proven_job(paces={"RUNNING": BY_HAND})
    assert tried.submit("--detach").code == 0
    (job,) = tried.google.jobs
    tried.google.jobs.run_to(job.name, "RUNNING")
    return tried


def read_until(stream: Iterable[str] | None, words: str) -> str:
    """The line that has ``words``."""
    for line in stream or ():
        if words in line:
            return line
    raise AssertionError(f"ended without {words!r}")


def expire(running: Bench) -> None:
    """No token is good any more, and no new one is given out."""
    running.google.tokens.refusal = ("invalid_grant", "Invalid JWT Signature.")
    running.google.tokens.expire()


@pytest.mark.parametrize("verb", ["wait", "vertex"])
def test_credentials_that_expire_while_the_job_runs_are_waited_for(running: Bench, verb: str):
    """Also where no log can be read, and the job alone is asked for."""
    running.google.account.deny("logging.logEntries.list")
    (job,) = running.google.jobs
    expires = Call(lambda _: expire(running))
    running.google.faults.add(expires, "customJobs.get", after=3, times=1)
    words = ("wait", job.name) if verb == "wait" else running.words()
    process = running.launch.start(*words, **running.environment())
    told = read_until(process.stderr, "no longer valid")
    assert "GOOGLE_APPLICATION_CREDENTIALS" in told
    running.google.tokens.refusal = None
    read_until(process.stderr, "answers again")
    running.google.account.caller.denied.clear()
    running.google.jobs.run_to(job.name, "SUCCEEDED")
    assert "succeeded" in process.communicate(timeout=60)[1]
    assert process.returncode == 0


def test_credentials_that_were_never_good_end_a_wait_at_once(running: Bench):
    expire(running)
    answer = running.ask("wait", "train")
    assert answer.code == 4
    assert "credentials" in answer.err


def test_a_log_service_that_is_busy_at_the_end_is_no_verdict(tried: Bench):
    fault = tried.google.faults.add(Refuse(TOO_MANY_READS), "entries.list", times=6)
    answer = tried.submit()
    assert answer.code == 0, answer.err
    assert fault.hits == 6
    assert "not proven" not in answer.err


@pytest.mark.parametrize("words", [("wait",), ("logs", "--follow")])
def test_an_interrupted_wait_says_that_the_job_goes_on(running: Bench, words: tuple[str, ...]):
    (job,) = running.google.jobs
    processes: list[subprocess.Popen[str]] = []
    interrupt = Call(lambda _: processes[0].send_signal(signal.SIGINT))
    running.google.faults.add(interrupt, "customJobs.get", after=2, times=1)
    processes.append(running.launch.start(*words, job.name, **running.environment()))
    _, err = processes[0].communicate(timeout=60)
    assert processes[0].returncode == 130
    assert f"{job.name} goes on" in err
    assert f"launch cancel {job.name}" in err
    assert not running.google.received("customJobs.cancel")


def test_following_that_is_refused_says_that_the_job_goes_on(running: Bench):
    (job,) = running.google.jobs
    deny = Call(lambda _: running.google.account.deny("aiplatform.customJobs.get"))
    running.google.faults.add(deny, "entries.list", times=1)
    process = running.launch.start(*running.words(), **running.environment())
    _, err = process.communicate(timeout=60)
    assert process.returncode == 5
    assert "aiplatform.customJobs.get" in err
    assert f"launch cancel {job.name}" in err


def test_a_reader_that_goes_away_leaves_the_job_and_is_told(running: Bench):
    process = running.launch.start(*running.words(), **running.environment())
    assert process.stdout
    process.stdout.close()
    assert process.stderr
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 130
    assert "goes on" in err
    assert "Traceback" not in err


def test_a_time_limit_of_a_wait_says_where_the_job_stands(running: Bench):
    answer = running.ask("wait", "train", "--timeout", "1s")
    assert answer.code == 1
    assert "running" in answer.err


def test_a_second_detach_starts_nothing_and_does_not_say_so(running: Bench):
    answer = running.submit("--detach")
    assert answer.code == 0
    assert "nothing is sent" in answer.err
    assert "started" not in answer.err
    assert len(running.google.jobs) == 1


def test_logs_without_a_line_say_so(tried: Bench):
    tried.google.jobs.scenario = proven_job(pace=BY_HAND)
    assert tried.submit("--detach").code == 0
    answer = tried.ask("logs", "train")
    assert (answer.code, answer.out) == (0, "")
    assert "--follow" in answer.err
