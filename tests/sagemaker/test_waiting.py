"""Waiting for a job's end and leaving it: nothing that passes is taken for the end."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator

import pytest

from launchers.sagemaker.service.log_streams import LogStreams
from launchers.sagemaker.service.session import Session
from tests.cli.command import Launch
from tests.fakes.faults import INTERNAL, THROTTLED, Call, Refuse
from tests.fakes.job_scenarios import BY_HAND, Scenario
from tests.fakes.wire import ServiceError
from tests.sagemaker.service.submitting import Bench, bench, proven_job


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


@pytest.fixture
def running(tried: Bench) -> Bench:
    """A job in its training that nothing ends."""
    tried.aws.jobs.scenario = proven_job(paces={"Training": BY_HAND})
    assert tried.submit("--detach").code == 0
    (job,) = tried.aws.jobs
    tried.aws.jobs.run_to(job.name, "Training")
    return tried


def read_until(stream: object, words: str) -> str:
    """The line that has ``words``."""
    for line in stream:  # type: ignore[attr-defined]
        if words in line:
            return str(line)
    raise AssertionError(f"ended without {words!r}")


def ended(process: subprocess.Popen[str]) -> str:
    """What is left on stderr, at the end."""
    return process.communicate(timeout=120)[1]


@pytest.mark.parametrize("verb", ["wait", "sagemaker"])
def test_credentials_that_expire_while_the_job_runs_are_waited_for(running: Bench, verb: str):
    """Also where no log can be read, and the job alone is asked for."""
    running.aws.account.deny("logs:DescribeLogStreams")
    (job,) = running.aws.jobs
    asked_before = len(running.aws.received("DescribeTrainingJob"))
    expire = Call(lambda _: running.aws.account.expire())
    running.aws.faults.add(expire, "DescribeTrainingJob", after=3, times=1)
    words = ("wait", job.name) if verb == "wait" else running.words()
    process = running.launch.start(*words, **running.environment())
    assert "AWS_ACCESS_KEY_ID" in read_until(process.stderr, "no longer valid")
    running.aws.account.renew()
    read_until(process.stderr, "answers again")
    assert len(running.aws.received("DescribeTrainingJob")) > asked_before + 3
    running.aws.account.allow("logs:DescribeLogStreams")
    running.aws.jobs.step(job.name, 2)
    assert "succeeded" in ended(process)
    assert process.returncode == 0


def test_credentials_that_were_never_good_end_a_wait_at_once(running: Bench):
    running.aws.account.expire()
    answer = running.ask("wait", "train")
    assert answer.code == 4
    assert "credentials" in answer.err


@pytest.mark.parametrize("error", [THROTTLED, INTERNAL])
def test_a_log_service_that_is_busy_at_the_end_is_no_verdict(tried: Bench, error: ServiceError):
    fault = tried.aws.faults.add(Refuse(error), "FilterLogEvents", times=6)
    answer = tried.submit()
    assert answer.code == 0, answer.err
    assert fault.hits == 6
    assert "not proven" not in answer.err


@pytest.mark.parametrize("words", [("wait",), ("logs", "--follow")])
def test_an_interrupted_wait_says_that_the_job_goes_on(running: Bench, words: tuple[str, ...]):
    (job,) = running.aws.jobs
    processes: list[subprocess.Popen[str]] = []
    interrupt = Call(lambda _: processes[0].send_signal(signal.SIGINT))
    running.aws.faults.add(interrupt, "DescribeTrainingJob", after=2, times=1)
    processes.append(running.launch.start(*words, job.name, **running.environment()))
    err = ended(processes[0])
    assert processes[0].returncode == 130
    assert f"{job.name} goes on" in err
    assert f"launch cancel {job.name}" in err
    assert not running.aws.received("StopTrainingJob")


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


def test_following_that_is_refused_says_that_the_job_goes_on(running: Bench):
    (job,) = running.aws.jobs
    processes: list[subprocess.Popen[str]] = []
    deny = Call(lambda _: running.aws.account.deny("sagemaker:DescribeTrainingJob"))
    running.aws.faults.add(deny, "DescribeLogStreams", times=1)
    processes.append(running.launch.start(*running.words(), **running.environment()))
    err = ended(processes[0])
    assert processes[0].returncode == 5
    assert "AccessDenied" in err
    assert f"launch cancel {job.name}" in err


def test_a_time_limit_of_a_wait_says_where_the_job_stands(running: Bench):
    answer = running.ask("wait", "train", "--timeout", "1s")
    assert answer.code == 1
    assert "training" in answer.err


def test_a_second_detach_starts_nothing_and_does_not_say_so(running: Bench):
    answer = running.submit("--detach")
    assert answer.code == 0
    assert "nothing is sent" in answer.err
    assert "started" not in answer.err
    assert len(running.aws.jobs) == 1


def test_logs_without_a_line_say_so(tried: Bench):
    tried.aws.jobs.scenario = proven_job(pace=BY_HAND)
    assert tried.submit("--detach").code == 0
    answer = tried.ask("logs", "train")
    assert (answer.code, answer.out) == (0, "")
    assert "--follow" in answer.err


def test_parallel_jobs_of_no_sweep_are_an_error(tried: Bench):
    answer = tried.submit("--max-parallel", "2")
    assert answer.code == 2
    assert "sweep" in answer.err
    assert not len(tried.aws.jobs)


def test_a_place_in_the_log_that_was_forgotten_is_found_again(
    tried: Bench, monkeypatch: pytest.MonkeyPatch
):
    """A token of GetLogEvents lasts 24 hours."""
    for name, value in tried.environment().items():
        monkeypatch.setenv(name, value)
    lines = [f"line {index}" for index in range(25)]
    tried.aws.jobs.scenario = Scenario(lines={"algo-1": lines}, paces={"Training": BY_HAND})
    assert tried.submit("--detach").code == 0
    (job,) = tried.aws.jobs
    tried.aws.jobs.run_to(job.name, "Training")
    tried.aws.logs.page_events = 10
    forgotten = ServiceError("InvalidParameterException", "The specified nextToken is invalid.")
    tried.aws.faults.add(Refuse(forgotten), "GetLogEvents", after=2, times=1)
    streams = LogStreams(Session("us-east-1"), job.name)
    assert [line.text for line in streams.round()] == lines
    tried.aws.faults.add(Refuse(forgotten), "GetLogEvents", times=1)
    assert not list(streams.round())
