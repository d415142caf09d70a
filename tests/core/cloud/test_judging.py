"""How a job ended: by its service's word and by the lines of its log."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from launchers.core.cloud.judging import expected_of_job
from launchers.core.model.jobs import FAILED, NOT_PROVEN, RUNNING, SUCCEEDED
from launchers.core.model.problems import CredentialsError, PassingError
from tests.core.cloud.conftest import Here
from tests.core.cloud.memory import DENIED, EXPIRED, PASSING, PROOF
from tests.core.output.evidences import NONCE, lines_of, record

FAILURE = "launch: failure: " + json.dumps({"rank": 1, "host": "host-2", "reason": "KeyError"})
LONG_AGO = 3600
JUDGED = f"{PROOF}; gradients exchanged, weights equal"


def ended(here: Here, state: str, *lines: str, ago: float = LONG_AGO, reason: str = "") -> None:
    """The job has ended so long ago."""
    here.running().end(state, here.clock.now - ago, *lines, reason=reason)


def tell(here: Here, *ranks: int, at: float, alone: bool = False) -> None:
    """The log has those ranks' evidence: that they exchanged, or trained each alone."""
    for rank in ranks:
        told = lines_of([record(()) if alone else record()], rank, "")
        here.cloud.jobs[here.handle.name].lines += [replace(one, time=at) for one in told]


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
    assert here.cloud.calls.count("search") == 1, "no evidence is asked for"


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


def test_exactly_when_the_log_has_had_its_time_it_is_not_waited_for(here: Here):
    ended(here, SUCCEEDED, ago=30)
    assert here.describe().state == NOT_PROVEN


def test_right_after_the_end_missing_evidence_may_still_come(here: Here):
    ended(here, SUCCEEDED, PROOF, ago=5)
    assert here.describe().state == RUNNING
    tell(here, 0, 1, at=here.clock.now)
    found = here.describe()
    assert found.state == SUCCEEDED
    assert found.proof.startswith(JUDGED.removeprefix("launch: proof: "))


def test_of_a_job_whose_end_has_no_time_nothing_is_waited_for(here: Here):
    ended(here, SUCCEEDED, PROOF)
    here.cloud.jobs[here.handle.name].ended_at = None
    assert here.describe().state == SUCCEEDED


@pytest.mark.parametrize(("before", "searches"), [(600.0, 2), (600.5, 3)])
def test_evidence_is_looked_for_in_the_last_ten_minutes_first(
    here: Here, before: float, searches: int
):
    ended(here, SUCCEEDED, PROOF)
    tell(here, 0, 1, at=here.clock.now - LONG_AGO - before)
    assert here.describe().proof.startswith(JUDGED.removeprefix("launch: proof: "))
    assert here.cloud.calls.count("search") == searches


@pytest.mark.parametrize(
    ("state", "line"), [(SUCCEEDED, JUDGED), (FAILED, PROOF), (FAILED, FAILURE)]
)
def test_no_evidence_is_asked_for_where_it_would_change_nothing(here: Here, state: str, line: str):
    ended(here, state, line, reason="exit code 1")
    assert here.describe().state == state
    assert here.cloud.calls.count("search") == 1


def test_what_to_change_is_told_of_ranks_that_trained_apart(here: Here):
    ended(here, SUCCEEDED, PROOF)
    tell(here, 0, 1, at=here.clock.now - LONG_AGO, alone=True)
    found = here.describe()
    assert found.state == FAILED
    assert "--proof init" in found.details["fix"]


def test_the_ledgers_nonce_is_the_jobs_and_the_documents_where_it_has_none(here: Here):
    here.running()
    observed = here.job.poll()
    assert observed is not None
    assert expected_of_job(here.job, observed) == observed.expected
    here.ledger.forget(here.entry)
    here.intend(nonce=NONCE)
    assert expected_of_job(here.job, observed).nonce == NONCE
    assert expected_of_job(here.job, observed, here.entry).nonce == NONCE
    here.ledger.forget(here.entry)
    here.intend()
    own = replace(observed, expected=replace(observed.expected, nonce="of the document"))
    assert expected_of_job(here.job, own).nonce == "of the document"
    here.ledger.forget(here.entry)
    assert expected_of_job(here.job, own).nonce == "of the document"


def test_evidence_that_cannot_be_read_keeps_the_end_open(here: Here):
    ended(here, SUCCEEDED, PROOF)
    here.cloud.fail("search", "", DENIED)
    found = here.describe()
    assert found.details["unreadable"] == "the cloud says denied"
    assert (here.entry.state, here.entry.proof) == (RUNNING, "")


def test_with_a_proof_that_names_its_evidence_no_line_is_needed(here: Here):
    ended(here, SUCCEEDED)
    here.ledger.update(here.entry, proof=JUDGED.removeprefix("launch: proof: "))
    here.cloud.fail("search", DENIED)
    found = here.describe()
    assert "unreadable" not in found.details
    assert here.entry.state == SUCCEEDED


def test_a_known_proof_alone_does_not_stand_for_evidence_that_cannot_be_read(here: Here):
    ended(here, SUCCEEDED)
    here.ledger.update(here.entry, proof=PROOF.removeprefix("launch: proof: "))
    here.cloud.fail("search", DENIED)
    assert here.describe().details["unreadable"] == "the cloud says denied"
    assert here.cloud.calls.count("search") == 1
    assert here.entry.state == RUNNING


def test_logs_without_credentials_give_no_verdict(here: Here):
    ended(here, SUCCEEDED, PROOF)
    here.cloud.fail("search", EXPIRED)
    with pytest.raises(CredentialsError):
        here.describe()


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
