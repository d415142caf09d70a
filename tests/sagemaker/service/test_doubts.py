"""What is not known to be sent stays an intent: nothing is paid for twice, and nothing unknown."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from launchers.core.records.ledger import INTENT, Ledger
from tests.cli.command import Launch
from tests.fakes.faults import HANDLED, INTERNAL, READ, RESET, Call, Delay, Drop, Refuse
from tests.fakes.job_scenarios import BY_HAND, Scenario
from tests.fakes.wire import ServiceError
from tests.sagemaker.service.submitting import Bench, bench, proven_job

NOT_FOUND = ServiceError("ValidationException", "Requested resource not found.", 400)


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


def begun(tried: Bench) -> None:
    """A job that the service has, while the ledger knows only that it may have been sent."""
    processes: list[subprocess.Popen[str]] = []
    kill = Call(lambda _: processes[0].kill())
    tried.aws.faults.add(kill, "CreateTrainingJob", point=HANDLED, times=1)
    processes.append(tried.launch.start(*tried.words(), **tried.environment()))
    processes[0].communicate(timeout=60)
    (entry,) = Ledger(tried.launch.home).jobs()
    assert entry.state == INTENT
    assert len(tried.aws.jobs) == 1


def only_one(tried: Bench) -> None:
    """The service has one job, and the ledger the same one."""
    (job,) = tried.aws.jobs
    assert [entry.name for entry in Ledger(tried.launch.home).jobs()] == [job.name]


def test_a_caller_who_may_not_ask_for_the_job_does_not_make_a_second_one(tried: Bench):
    tried.aws.faults.add(Drop(RESET), "CreateTrainingJob", point=HANDLED, times=1)
    tried.aws.account.deny("sagemaker:DescribeTrainingJob")
    assert tried.submit("--detach").code == 5
    (entry,) = Ledger(tried.launch.home).jobs()
    assert entry.state == INTENT
    tried.aws.account.allow("sagemaker:DescribeTrainingJob")
    assert tried.submit().code == 0
    only_one(tried)


def test_a_bucket_that_refuses_the_second_attempt_does_not_end_the_first(tried: Bench):
    begun(tried)
    tried.aws.objects.buckets[tried.aws.bucket].objects.clear()
    tried.aws.account.deny("s3:PutObject")
    assert tried.submit().code == 5
    tried.aws.account.allow("s3:PutObject")
    assert tried.submit().code == 0
    only_one(tried)


def test_another_role_in_the_second_attempt_finds_the_job_of_the_first(tried: Bench):
    begun(tried)
    other = tried.aws.account.add_role("OtherRole").arn
    words = [other if word == tried.aws.role_arn else word for word in tried.words()]
    answer = tried.ask(*words)
    assert answer.code == 0, answer.err
    only_one(tried)


def test_a_name_that_our_own_request_took_is_not_somebody_elses(tried: Bench):
    """The service does not see at once what it has made."""
    tried.aws.faults.add(Refuse(INTERNAL), "CreateTrainingJob", point=HANDLED, times=1)
    tried.aws.faults.add(Refuse(NOT_FOUND), "DescribeTrainingJob", point=READ, times=2)
    answer = tried.submit()
    assert answer.code == 0, answer.err
    only_one(tried)


@pytest.mark.parametrize("code", ["ValidationException", "ResourceNotFound"])
def test_both_forms_of_a_missing_job_are_known(tried: Bench, code: str):
    tried.aws.jobs.not_found = code
    tried.aws.faults.add(Drop(RESET), "CreateTrainingJob", point=READ, times=1)
    answer = tried.submit()
    assert answer.code == 0, answer.err
    only_one(tried)


def test_the_same_command_twice_at_once_is_one_job(tried: Bench):
    tried.aws.jobs.scenario = proven_job(paces={"Training": BY_HAND})
    tried.aws.faults.add(Delay(0.5), "CreateTrainingJob")
    tried.aws.faults.add(Delay(0.5), "CreateTrainingJob", point=HANDLED)
    codes: list[int] = []
    threads = [
        threading.Thread(target=lambda: codes.append(tried.submit("--detach").code))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    only_one(tried)
    assert codes == [0, 0, 0]


def test_two_commands_that_take_up_one_intent_make_one_job_that_is_known(tried: Bench):
    tried.aws.jobs.scenario = proven_job(paces={"Training": BY_HAND})
    # Interrupted before it was sent.
    tried.aws.faults.add(Refuse(ServiceError("SlowDown", "later", 503)), "s3")
    tried.submit("--detach")
    tried.aws.faults.clear()
    (entry,) = Ledger(tried.launch.home).jobs()
    assert entry.state == INTENT
    # Both have read the ledger before either sends; the one that makes the job is told last.
    tried.aws.faults.add(Delay(1.0), "HeadObject", point=HANDLED)
    tried.aws.faults.add(Delay(2.0), "CreateTrainingJob", point=HANDLED, times=1)
    threads = [threading.Thread(target=tried.submit, args=("--detach",)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    only_one(tried)


def test_a_second_attempt_from_another_account_sends_nothing(tried: Bench):
    """Where the first job may be cannot be seen from there."""
    begun(tried)
    tried.aws.account.deny("iam:GetRole", "iam:SimulatePrincipalPolicy")
    theirs = "arn:aws:iam::999900001111:role/Theirs"
    words = [theirs if word == tried.aws.role_arn else word for word in tried.words()]
    answer = tried.ask(*words)
    tried.aws.account.allow("iam:GetRole", "iam:SimulatePrincipalPolicy")
    assert answer.code == 2, answer.err
    assert "begun before in 111122223333" in answer.err
    assert tried.submit().code == 0
    only_one(tried)


def test_a_job_that_is_older_than_the_intent_is_somebody_elses(tried: Bench):
    tried.aws.jobs.scenario = proven_job(paces={"Training": BY_HAND})
    begun(tried)
    (job,) = tried.aws.jobs
    ledger = Ledger(tried.launch.home)
    (entry,) = ledger.jobs()
    ledger.forget(entry)
    ledger.add(replace(entry, created=entry.created + 3600))
    assert tried.ask("status", job.name).out.startswith(INTENT)
    assert "nothing to stop" in tried.ask("cancel", job.name).err
    assert not tried.aws.received("StopTrainingJob")


def test_a_sweeps_job_that_may_have_been_sent_is_not_called_unsent(tried: Bench):
    tried.aws.faults.add(Drop(RESET), "CreateTrainingJob", point=HANDLED, times=1)
    tried.aws.account.deny("sagemaker:DescribeTrainingJob")
    answer = tried.sweep("sweep: {jobs: [{args.seed: 0}]}\n")
    assert answer.code == 1
    assert "in doubt" in answer.out
    assert "not started" not in answer.out


def test_a_service_that_says_completed_after_a_rank_failed_is_not_believed(tried: Bench):
    failure = 'launch: failure: {"rank": 5, "host": "algo-2", "reason": "KeyError"}'
    proof = "[1,0]<stdout>:launch: proof: world size 8: 2 hosts x 4 ranks, MPI"
    tried.aws.jobs.scenario = Scenario(lines={"algo-1": [proof, f"[1,5]<stderr>:{failure}"]})
    answer = tried.submit()
    assert answer.code == 1
    assert "failed" in answer.err
