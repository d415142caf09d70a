"""What is not known to be sent stays an intent: nothing is paid for twice, and nothing unknown."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from launchers.core.records.ledger import INTENT, Ledger
from tests.cli.command import Launch
from tests.fakes.faults import HANDLED, READ, RESET, Call, Delay, Drop, Refuse
from tests.fakes.google_wire import INTERNAL, refused
from tests.fakes.job_scenarios import BY_HAND
from tests.vertex.service.submitting import Bench, bench, proven_job

LIST = "aiplatform.customJobs.list"
MAY_NOT_LIST = refused("PERMISSION_DENIED", f"Permission '{LIST}' denied")


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


def begun(tried: Bench) -> None:
    """A job that the service has, while the ledger knows only that it may have been sent."""
    processes: list[subprocess.Popen[str]] = []
    kill = Call(lambda _: processes[0].kill())
    tried.google.faults.add(kill, "customJobs.create", point=HANDLED, times=1)
    processes.append(tried.launch.start(*tried.words(), **tried.environment()))
    processes[0].communicate(timeout=60)
    (entry,) = Ledger(tried.launch.home).jobs()
    assert entry.state == INTENT
    assert len(tried.google.jobs) == 1


def only_one(tried: Bench) -> None:
    """The service has one job, and the ledger the same one."""
    (job,) = tried.google.jobs
    (entry,) = Ledger(tried.launch.home).jobs()
    assert entry.name == job.name
    assert entry.details["resource"].endswith(job.id)


def test_a_caller_who_may_not_ask_for_the_job_does_not_make_a_second_one(tried: Bench):
    tried.google.faults.add(Drop(RESET), "customJobs.create", point=HANDLED, times=1)
    # The list before the create is answered, the one after it is not.
    fault = tried.google.faults.add(Refuse(MAY_NOT_LIST), "customJobs.list", after=1)
    assert tried.submit("--detach").code == 5
    (entry,) = Ledger(tried.launch.home).jobs()
    assert entry.state == INTENT
    assert tried.submit("--detach").code == 5
    assert len(tried.google.jobs) == 1
    tried.google.faults.remove(fault)
    assert tried.submit().code == 0
    only_one(tried)


def test_a_bucket_that_refuses_the_second_attempt_does_not_end_the_first(tried: Bench):
    begun(tried)
    tried.google.objects.buckets[tried.google.bucket].objects.clear()
    denied = refused("PERMISSION_DENIED", "no storage.objects.create access")
    fault = tried.google.faults.add(Refuse(denied), "objects.insert")
    assert tried.submit().code == 5
    tried.google.faults.remove(fault)
    assert tried.submit().code == 0
    only_one(tried)


def test_another_service_account_in_the_second_attempt_finds_the_job_of_the_first(tried: Bench):
    begun(tried)
    account = tried.google.account.add_service_account("runner").email
    answer = tried.submit("--service-account", account)
    assert answer.code == 0, answer.err
    only_one(tried)


def test_another_bucket_in_the_second_attempt_finds_the_job_of_the_first(tried: Bench):
    begun(tried)
    answer = tried.submit("--bucket", tried.google.objects.add_bucket("another").name)
    assert answer.code == 0, answer.err
    only_one(tried)


@pytest.mark.parametrize("words", [("--location", "europe-west4"), ("--project", "somebody-elses")])
def test_a_second_attempt_at_another_place_sends_nothing(tried: Bench, words: tuple[str, ...]):
    """Where the first job may be cannot be seen from there."""
    begun(tried)
    google = tried.google
    place = google.objects.add_bucket("wide", "eu" if words[0] == "--location" else "us").name
    answer = tried.submit(*words, "--bucket", place)
    assert answer.code == 2, answer.err
    assert "begun before in " in answer.err
    assert tried.submit().code == 0
    only_one(tried)


def test_the_same_command_three_times_at_once_is_one_job(tried: Bench):
    tried.google.jobs.scenario = proven_job(paces={"RUNNING": BY_HAND})
    tried.google.faults.add(Delay(0.5), "customJobs.create")
    tried.google.faults.add(Delay(0.5), "customJobs.create", point=HANDLED)
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


def test_a_list_that_lags_behind_our_own_create_makes_no_second_job(tried: Bench):
    tried.google.jobs.list_misses = 2
    tried.google.faults.add(Refuse(INTERNAL), "customJobs.create", point=HANDLED, times=1)
    answer = tried.submit()
    assert answer.code == 0, answer.err
    only_one(tried)


def test_a_request_that_was_lost_before_it_arrived_is_sent_again(tried: Bench):
    tried.google.faults.add(Drop(RESET), "customJobs.create", point=READ, times=2)
    answer = tried.submit()
    assert answer.code == 0, answer.err
    only_one(tried)


def test_a_job_that_is_older_than_the_intent_is_somebody_elses(tried: Bench):
    tried.google.jobs.scenario = proven_job(paces={"RUNNING": BY_HAND})
    begun(tried)
    (job,) = tried.google.jobs
    ledger = Ledger(tried.launch.home)
    (entry,) = ledger.jobs()
    ledger.forget(entry)
    ledger.add(replace(entry, created=entry.created + 3600))
    assert tried.ask("status", job.name).out.startswith(INTENT)
    assert "nothing to stop" in tried.ask("cancel", job.name).err
    assert not tried.google.received("customJobs.cancel")


def test_a_sweeps_job_that_may_have_been_sent_is_not_called_unsent(tried: Bench):
    tried.google.faults.add(Drop(RESET), "customJobs.create", point=HANDLED, times=1)
    tried.google.faults.add(Refuse(MAY_NOT_LIST), "customJobs.list", after=1)
    answer = tried.sweep("sweep: {jobs: [{args.seed: 0}]}\n")
    assert answer.code == 1
    assert "in doubt" in answer.out
    assert "not started" not in answer.out
