"""What is not known to be sent stays an intent: nothing is paid for twice, and nothing unknown."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.command import Launch
from tests.clouds.doubts import begun, only_one
from tests.fakes.faults import HANDLED, READ, RESET, Drop, Refuse
from tests.fakes.google_wire import INTERNAL
from tests.vertex.service.submitting import Bench, bench


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


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
    assert "[intent-elsewhere]" in answer.err
    assert tried.submit().code == 0
    only_one(tried)


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
