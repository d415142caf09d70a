"""Connections of Google's clients that are lost at every point, and errors after the deed."""

from __future__ import annotations

import random
from typing import Any

import pytest
import requests
from google.api_core.exceptions import (
    GatewayTimeout,
    GoogleAPICallError,
    InternalServerError,
    ServiceUnavailable,
    TooManyRequests,
)

from tests.fakes.faults import (
    ARRIVED,
    HALF_BODY,
    HANDLED,
    READ,
    RESET,
    WAYS,
    Call,
    Drop,
    Refuse,
)
from tests.fakes.google_clients import create, job_client, parent_of, session
from tests.fakes.google_wire import (
    DEADLINE,
    INTERNAL,
    QUOTA_EXCEEDED,
    TOO_MANY_REQUESTS,
    UNAVAILABLE,
)
from tests.fakes.vertex_service import VertexService
from tests.selection import storm

LOST = requests.exceptions.RequestException


def listed(client: Any, google: VertexService, name: str) -> list[str]:
    asked = {"parent": parent_of(google), "filter": f'display_name="{name}"'}
    return [job.name for job in client.list_custom_jobs(request=asked)]


@pytest.mark.parametrize("way", WAYS)
def test_a_connection_lost_after_the_job_was_created_leaves_one_job(
    google: VertexService, way: str
) -> None:
    google.faults.add(Drop(way), "customJobs.create", point=HANDLED, times=1)
    client = job_client(google)

    with pytest.raises(LOST):
        create(google, client)

    (job,) = google.jobs
    assert listed(client, google, "job-1") == [job.resource]
    assert len(google.received("customJobs.create")) == 1


@pytest.mark.parametrize("point", [ARRIVED, READ])
@pytest.mark.parametrize("way", WAYS[:2])
def test_a_connection_lost_before_it_was_created_leaves_none(
    google: VertexService, point: str, way: str
) -> None:
    google.faults.add(Drop(way), "customJobs.create", point=point, times=1)
    client = job_client(google)

    with pytest.raises(LOST):
        create(google, client)
    assert len(google.jobs) == 0
    create(google, client)


@pytest.mark.parametrize("point", [READ, HANDLED])
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (QUOTA_EXCEEDED, TooManyRequests),
        (TOO_MANY_REQUESTS, TooManyRequests),
        (INTERNAL, InternalServerError),
        (UNAVAILABLE, ServiceUnavailable),
        (DEADLINE, GatewayTimeout),
    ],
)
def test_an_error_says_nothing_of_whether_there_is_a_job(
    google: VertexService, error: Any, kind: type[GoogleAPICallError], point: str
) -> None:
    google.faults.add(Refuse(error), "customJobs.create", point=point, times=1)

    with pytest.raises(kind) as raised:
        create(google)
    assert raised.value.code == error.status
    assert len(google.jobs) == (point == HANDLED)


def test_the_client_sends_nothing_again_by_itself(google: VertexService) -> None:
    """A launcher that sent again without a look would make two jobs."""
    google.faults.add(Drop(RESET), "customJobs.create", point=HANDLED, times=1)
    client = job_client(google)
    with pytest.raises(LOST):
        create(google, client)
    create(google, client)

    assert len(listed(client, google, "job-1")) == 2


@pytest.mark.storm
def test_connections_lost_at_random_points_leave_one_job_where_it_was_done(
    google: VertexService,
) -> None:
    chosen = random.Random(5)
    client = job_client(google)
    google.jobs.checks_quotas = False
    for number in range(storm(200, small=36)):
        point, way = chosen.choice((ARRIVED, READ, HANDLED)), chosen.choice(WAYS)
        fault = google.faults.add(Drop(way), "customJobs.create", point=point, times=1)
        with pytest.raises(LOST):
            create(google, client, name=f"job-{number}")
        google.faults.clear()
        assert len(listed(client, google, f"job-{number}")) == (fault.point == HANDLED)


def test_every_other_request_of_every_kind_may_be_lost(google: VertexService) -> None:
    client, call = job_client(google), session(google)
    name = create(google, client).name
    google.faults.add(Drop(HALF_BODY), "customJobs.get", "entries.list", every=2)
    asked = {"resourceNames": ["projects/training-project"]}
    outcomes = []
    for _ in range(4):
        for ask in (
            lambda: client.get_custom_job(name=name),
            lambda: call.post(f"{google.url}/v2/entries:list", json=asked).json(),
        ):
            try:
                ask()
                outcomes.append("told")
            except LOST:
                outcomes.append("lost")

    assert outcomes == ["lost", "told"] * 4


def test_a_rate_may_be_limited_with_the_clouds_own_error(google: VertexService) -> None:
    client = job_client(google)
    name = create(google, client).name
    google.faults.limit(0.001, "customJobs.get", burst=2, error=TOO_MANY_REQUESTS)
    for _ in range(2):
        client.get_custom_job(name=name)

    with pytest.raises(TooManyRequests):
        client.get_custom_job(name=name)


def test_a_hook_sees_the_request_before_it_is_done(google: VertexService) -> None:
    seen: list[tuple[str, int]] = []
    google.faults.add(
        Call(lambda request: seen.append((request.operation, len(google.jobs)))),
        "customJobs.create",
    )
    create(google)

    assert seen == [("customJobs.create", 0)]
