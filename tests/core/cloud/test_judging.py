"""How a job ended: by its service's word and by the lines of its log."""

from __future__ import annotations

import json

import pytest

from launchers.core.model.jobs import FAILED, NOT_PROVEN, RUNNING, SUCCEEDED
from launchers.core.model.problems import PassingError
from tests.core.cloud.conftest import Here
from tests.core.cloud.memory import DENIED, PASSING, PROOF

FAILURE = "launch: failure: " + json.dumps({"rank": 1, "host": "host-2", "reason": "KeyError"})
LONG_AGO = 3600


def ended(here: Here, state: str, *lines: str, ago: float = LONG_AGO, reason: str = "") -> None:
    """The job has ended so long ago."""
    here.running().end(state, here.clock.now - ago, *lines, reason=reason)


def test_a_success_with_the_proof_is_one(here: Here):
    ended(here, SUCCEEDED, "other lines", PROOF)
    found = here.describe()
    assert found.state == SUCCEEDED
    assert found.proof.startswith("world size 2: 2 hosts x 1 rank, Gloo")


def test_a_success_without_a_proof_is_not_proven(here: Here):
    ended(here, SUCCEEDED, "other lines")
    found = here.describe()
    assert found.state == NOT_PROVEN
    assert "no line of its output proves world size 2" in found.reason


def test_a_proof_of_another_world_is_none(here: Here):
    ended(here, SUCCEEDED, "launch: proof: world size 1: 1 host x 1 rank, Gloo")
    assert here.describe().state == NOT_PROVEN


def test_a_success_after_a_rank_failed_is_not_believed(here: Here):
    ended(here, SUCCEEDED, PROOF, FAILURE)
    found = here.describe()
    assert found.state == FAILED
    assert found.reason == (
        "rank 1 on host-2 failed first: KeyError (Memory Jobs says done all the same)"
    )
    assert found.details["failure"]["rank"] == 1


def test_a_failure_names_the_rank_before_the_services_reason(here: Here):
    ended(here, FAILED, PROOF, FAILURE, reason="exit code 1")
    assert here.describe().reason == "rank 1 on host-2 failed first: KeyError (exit code 1)"


def test_right_after_the_end_a_missing_proof_may_still_come(here: Here):
    ended(here, SUCCEEDED, ago=29)
    found = here.describe()
    assert found.state == RUNNING
    assert "last lines are not in the log yet" in found.details["doing"]
    here.clock.now += 2
    assert here.describe().state == NOT_PROVEN


def test_logs_that_may_not_be_read_are_no_verdict_that_is_kept(here: Here):
    ended(here, SUCCEEDED, PROOF)
    here.cloud.fail("search", DENIED, DENIED)
    found = here.describe()
    assert found.state == NOT_PROVEN
    assert "its logs cannot be read" in found.reason
    assert here.entry.state == RUNNING
    here.cloud.faults.clear()
    assert here.describe().state == SUCCEEDED


def test_a_log_that_is_busy_gives_no_verdict(here: Here):
    ended(here, SUCCEEDED, PROOF)
    here.cloud.fail("search", *[PASSING] * 5)
    with pytest.raises(PassingError):
        here.describe()


def test_a_proof_that_the_ledger_holds_counts(here: Here):
    ended(here, SUCCEEDED)
    here.ledger.update(here.entry, proof="world size 2: 2 hosts x 1 rank, Gloo")
    assert here.describe().state == SUCCEEDED
