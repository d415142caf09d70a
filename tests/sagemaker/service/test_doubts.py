"""What is not known to be sent stays an intent: nothing is paid for twice, and nothing unknown."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from launchers.core.records.entry import INTENT
from launchers.core.records.ledger import Ledger
from tests.cli.command import Launch
from tests.clouds.doubts import begun, only_one
from tests.fakes.faults import HANDLED, INTERNAL, READ, RESET, Delay, Drop, Refuse
from tests.fakes.job_scenarios import BY_HAND
from tests.fakes.wire import ServiceError
from tests.sagemaker.service.submitting import Bench, bench, proven_job

NOT_FOUND = ServiceError("ValidationException", "Requested resource not found.", 400)


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


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
    assert "[intent-elsewhere]" in answer.err
    assert tried.submit().code == 0
    only_one(tried)
