"""The fake Vertex AI lists CustomJobs as the service does."""

from __future__ import annotations

import pytest
from google.api_core.exceptions import BadRequest

from tests.fakes.clock import Clock
from tests.fakes.google_clients import create, job_client, parent_of
from tests.fakes.vertex_service import VertexService

LABELS = {"launch-digest": "0123abcd", "launch-run": "1"}


def listed(google: VertexService, text: str = "", size: int = 0) -> list[str]:
    asked = {"parent": parent_of(google), "filter": text, "page_size": size}
    return [job.display_name for job in job_client(google).list_custom_jobs(request=asked)]


def test_a_list_has_the_newest_first_page_by_page(google: VertexService) -> None:
    client = job_client(google)
    names = [f"job-{number}" for number in range(7)]
    for name in names:
        create(google, client, name=name)
    google.forget_requests()

    assert listed(google, size=3) == names[::-1]
    assert len(google.received("customJobs.list")) == 3
    assert listed(google, 'display_name="job-2" OR display_name="job-4"') == ["job-4", "job-2"]


def test_a_page_is_not_moved_by_a_job_that_is_created_meanwhile(google: VertexService) -> None:
    client = job_client(google)
    for number in range(4):
        create(google, client, name=f"job-{number}")
    asked = {"parent": parent_of(google), "page_size": 2}
    pages = client.list_custom_jobs(request=asked).pages
    first = next(pages)
    create(google, client, name="newest")
    second = next(pages)

    names = [job.display_name for page in (first, second) for job in page.custom_jobs]
    assert names == ["job-3", "job-2", "job-1", "job-0"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('labels.launch-digest="0123abcd"', ["b", "a"]),
        ('labels.launch-digest="0123abcd" AND labels.launch-run="2"', ["b"]),
        ("labels.launch-run=1", ["a"]),
        ("labels.launch-run:*", ["b", "a"]),
        ("NOT labels.launch-run:*", ["c"]),
        ('labels.launch-digest="other"', []),
        ('display_name="a"', ["a"]),
        ('display_name!="a"', ["c", "b"]),
        ('display_name:"*"', ["c", "b", "a"]),
        ('state="JOB_STATE_PENDING"', ["c", "b", "a"]),
        ('state!="JOB_STATE_PENDING"', []),
        ('state="JOB_STATE_RUNNING" OR display_name="c"', ["c"]),
        ('create_time>"2020-01-01T00:00:00Z"', ["c", "b", "a"]),
        ('create_time<"2020-01-01T00:00:00Z"', []),
    ],
)
def test_a_list_is_filtered_as_documented(
    google: VertexService, text: str, expected: list[str]
) -> None:
    client = job_client(google)
    create(google, client, name="a", labels=LABELS)
    create(google, client, name="b", labels={**LABELS, "launch-run": "2"})
    create(google, client, name="c")

    assert listed(google, text) == expected


@pytest.mark.parametrize(
    "text", ["displayName=a", "name=a", 'state="RUNNING"', "create_time>yesterday", "a=", "x"]
)
def test_a_filter_that_is_not_documented_is_refused(google: VertexService, text: str) -> None:
    with pytest.raises(BadRequest):
        listed(google, text)


def test_a_page_token_of_another_list_is_refused(google: VertexService) -> None:
    client = job_client(google)
    for _ in range(2):
        create(google, client)
    first = client.list_custom_jobs(request={"parent": parent_of(google), "page_size": 1})
    token = next(first.pages).next_page_token

    with pytest.raises(BadRequest, match="Page token"):
        client.list_custom_jobs(
            request={
                "parent": parent_of(google),
                "page_token": token,
                "filter": 'display_name="job-1"',
            }
        )


def test_a_list_may_lag_behind_a_create() -> None:
    clock = Clock(stopped=True)
    with VertexService(clock=clock) as google:
        google.jobs.list_lag = 10
        create(google)
        assert listed(google) == []
        assert job_client(google).get_custom_job(name=google.jobs.get("job-1").resource)
        clock.advance(10)
        assert listed(google) == ["job-1"]


def test_a_list_may_miss_a_new_job_a_number_of_times(google: VertexService) -> None:
    google.jobs.list_misses = 2
    create(google)

    assert [listed(google) for _ in range(4)] == [[], [], ["job-1"], ["job-1"]]


def test_jobs_of_another_location_are_not_listed(google: VertexService) -> None:
    create(google)

    elsewhere = parent_of(google, "europe-west4")
    assert list(job_client(google).list_custom_jobs(parent=elsewhere)) == []
