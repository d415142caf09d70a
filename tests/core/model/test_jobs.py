"""The words of a job."""

from __future__ import annotations

import pytest

from launchers.core.model import jobs
from launchers.core.model.jobs import Examined, JobDefinition, JobStatus

DEFINITION = JobDefinition("memory", "train-1", 4, "{}\n", {})


@pytest.mark.parametrize("state", [jobs.PENDING, jobs.RUNNING, jobs.STOPPING])
def test_a_job_that_may_still_change_has_not_ended(state):
    assert not JobStatus(state).final


@pytest.mark.parametrize(
    "state",
    [jobs.SUCCEEDED, jobs.FAILED, jobs.STOPPED, jobs.NOT_PROVEN, jobs.LOST, jobs.TIMED_OUT],
)
def test_every_other_state_is_an_end(state):
    assert JobStatus(state).final


@pytest.mark.parametrize(
    ("started", "because", "answer"),
    [
        (8, "MPI over 2 hosts x 4 processes", "it starts a world size of 8: MPI over 2 hosts x 4"),
        (1, "", "it starts a world size of 1"),
        (None, "a driver", "cannot tell what it starts: a driver"),
        (None, "", "cannot tell what it starts: the document does not say"),
    ],
)
def test_a_document_is_said_to_start_so_many_ranks_or_nobody_can_tell(started, because, answer):
    found = Examined(DEFINITION, (), started, because=because)
    assert found.answer.startswith(answer)
