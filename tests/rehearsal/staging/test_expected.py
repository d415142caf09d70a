"""How many ranks of a document are started here, and which are refused."""

from __future__ import annotations

from typing import Any

import pytest

from launchers.core.model.jobs import JobDefinition
from launchers.rehearsal.options import RehearsalOptions
from launchers.rehearsal.staging.expected import Expected, expected_here
from tests.refusals import refused
from tests.rehearsal.boxes import box

# A document of 8 ranks: two hosts of 4, and what serves them without a rank.
WHOLE = 8
HOSTS = [{"ranks": (0, 1, 2, 3)}, {"ranks": (4, 5, 6, 7)}, {"ranks": ()}]


def expected(asked: int | None, hosts: list[dict[str, Any]] = HOSTS) -> Expected:
    """Of a rehearsal with ``--ranks-per-host``."""
    containers = [box(number, "", **host) for number, host in enumerate(hosts, 1)]
    definition = JobDefinition("boxes", "job", WHOLE, "{}\n", {})
    return expected_here(definition, containers, RehearsalOptions(ranks_per_host=asked))


@pytest.mark.parametrize(("asked", "ranks"), [(None, WHOLE), (1, 2), (3, 6), (4, WHOLE)])
def test_as_many_or_fewer_are_started_on_each_host_that_has_ranks(
    asked: int | None, ranks: int
) -> None:
    found = expected(asked)
    assert (found.world_size, found.hosts, found.document_world_size) == (ranks, 2, WHOLE)


def test_more_than_the_document_has_are_refused() -> None:
    with refused("ranks-per-host", "5 on each of 2 hosts; expected at most the document's 8 ranks"):
        expected(5)


def test_a_document_that_starts_none_on_its_hosts_has_none_to_leave_out() -> None:
    with refused("ranks-per-host", "1; expected a document that starts ranks on each host"):
        expected(1, [{"ranks": ()}] * 2)
