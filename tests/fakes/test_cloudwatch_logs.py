"""The fake CloudWatch Logs gives out a job's lines as the service does: by page and by token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.fakes.aws_clients import client, request_for
from tests.fakes.clock import Clock
from tests.fakes.cloudwatch_logs import GROUP
from tests.fakes.faults import THROTTLED, Refuse
from tests.fakes.job_scenarios import BY_HAND, Scenario
from tests.fakes.log_lines import Generated, Growing, first_from
from tests.fakes.sagemaker_service import SageMakerService
from tests.selection import storm


@pytest.fixture
def aws() -> Iterator[SageMakerService]:
    """By a clock that stands still."""
    with SageMakerService(clock=Clock(stopped=True)) as service:
        yield service


def training(aws: SageMakerService, name: str = "job-1", **scenario: Any) -> Any:
    """A job that trains; gives a client of the logs."""
    aws.jobs.script(name, Scenario(**{"pace": BY_HAND, **scenario}))
    client(aws, "sagemaker").create_training_job(**request_for(aws, name))
    aws.jobs.run_to(name, "Training")
    return client(aws, "logs")


def numbered(host: int, count: int, every: int = 1) -> Generated:
    """Lines of which so many are in each millisecond."""
    return Generated(count, lambda index: (index // every, f"algo-{host} line {index}"))


def streams(logs: Any, prefix: str = "job-1/", **asked: Any) -> list[str]:
    pages = logs.get_paginator("describe_log_streams").paginate(
        logGroupName=GROUP, logStreamNamePrefix=prefix, **asked
    )
    return [one["logStreamName"] for page in pages for one in page["logStreams"]]


def read(logs: Any, stream: str, **asked: Any) -> list[str]:
    """All of a stream, page by page, until a token comes back that was given."""
    asked = {"logGroupName": GROUP, "logStreamName": stream, "startFromHead": True, **asked}
    texts: list[str] = []
    token = ""
    while True:
        page = logs.get_log_events(**asked, **({"nextToken": token} if token else {}))
        texts += [event["message"] for event in page["events"]]
        if page["nextForwardToken"] == token:
            return texts
        token = page["nextForwardToken"]


def searched(logs: Any, **asked: Any) -> list[dict[str, Any]]:
    pages = logs.get_paginator("filter_log_events").paginate(logGroupName=GROUP, **asked)
    return [event for page in pages for event in page["events"]]


@pytest.mark.parametrize(
    ("operation", "asked"),
    [
        ("describe_log_streams", {}),
        ("get_log_events", {"logStreamName": "job-1/algo-1-1"}),
        ("filter_log_events", {}),
    ],
)
def test_the_group_is_not_there_before_the_first_line(
    aws: SageMakerService, operation: str, asked: dict[str, str]
) -> None:
    with pytest.raises(ClientError, match=r"ResourceNotFoundException.*log group does not exist"):
        getattr(client(aws, "logs"), operation)(logGroupName=GROUP, **asked)


def test_a_stream_is_not_there_before_its_host_writes(aws: SageMakerService) -> None:
    logs = training(aws, lines={"algo-1": ["a"], "algo-2": ["b"]}, late={"algo-2": 5.0})

    assert [name[:12] for name in streams(logs)] == ["job-1/algo-1"]
    with pytest.raises(ClientError, match="The specified log stream does not exist"):
        read(logs, "job-1/algo-2-1")
    aws.clock.advance(5)
    assert [name[:12] for name in streams(logs)] == ["job-1/algo-1", "job-1/algo-2"]


def test_a_stream_can_stay_hidden_from_the_first_questions(aws: SageMakerService) -> None:
    logs = training(aws, lines={"algo-1": ["a"], "algo-2": ["b"]}, hidden={"algo-2": 2})

    assert [len(streams(logs)) for _ in range(4)] == [1, 1, 2, 2]


def test_a_stream_is_named_after_job_host_and_time(aws: SageMakerService) -> None:
    logs = training(aws, lines={"algo-1": ["a"]})

    assert streams(logs) == [f"job-1/algo-1-{int(aws.clock.now() * 1000)}"]


def test_streams_come_in_pages_of_fifty(aws: SageMakerService) -> None:
    hosts = {f"algo-{host}": [f"{host}"] for host in range(1, 131)}
    logs = training(aws, lines=hosts)
    training(aws, name="other", lines={"algo-1": ["x"]})

    first = logs.describe_log_streams(logGroupName=GROUP, logStreamNamePrefix="job-1/")
    names = streams(logs)
    assert len(first["logStreams"]) == 50
    assert len(set(names)) == len(names) == 130
    assert names == sorted(names)


def test_streams_in_the_order_of_their_last_event_take_no_prefix(aws: SageMakerService) -> None:
    logs = training(aws, lines={"algo-1": [(5, "late")], "algo-2": [(1, "early")]})
    asked = {"logGroupName": GROUP, "orderBy": "LastEventTime", "descending": True}

    told = logs.describe_log_streams(**asked)["logStreams"]
    assert [one["logStreamName"][6:12] for one in told] == ["algo-1", "algo-2"]
    with pytest.raises(ClientError, match="InvalidParameterException"):
        logs.describe_log_streams(**asked, logStreamNamePrefix="job-1/")


def test_a_stream_read_to_its_end_gives_the_token_that_was_given(aws: SageMakerService) -> None:
    logs = training(aws, lines={"algo-1": numbered(1, 25_000)})
    (name,) = streams(logs)
    asked = {"logGroupName": GROUP, "logStreamName": name, "startFromHead": True}

    sizes: list[int] = []
    token = last = None
    for _ in range(5):
        page = logs.get_log_events(**asked, **({"nextToken": token} if token else {}))
        sizes.append(len(page["events"]))
        last, token = token, page["nextForwardToken"]

    assert sizes == [10_000, 10_000, 5_000, 0, 0]
    assert token == last


def test_a_page_holds_a_megabyte(aws: SageMakerService) -> None:
    logs = training(aws, lines={"algo-1": Generated(300, lambda index: (index, "x" * 10_000))})
    (name,) = streams(logs)

    page = logs.get_log_events(logGroupName=GROUP, logStreamName=name, startFromHead=True)

    assert len(page["events"]) == (1 << 20) // 10_026
    assert len(read(logs, name)) == 300


def test_lines_that_come_after_the_end_was_read_are_found_with_its_token(
    aws: SageMakerService,
) -> None:
    lines = Growing()
    lines.add(0, "first")
    logs = training(aws, lines={"algo-1": lines})
    (name,) = streams(logs)
    asked = {"logGroupName": GROUP, "logStreamName": name, "startFromHead": True}

    token = logs.get_log_events(**asked)["nextForwardToken"]
    assert logs.get_log_events(**asked, nextToken=token)["nextForwardToken"] == token
    lines.add(0, "second")
    page = logs.get_log_events(**asked, nextToken=token)
    assert [event["message"] for event in page["events"]] == ["second"]


def test_an_empty_page_in_the_middle_is_not_the_end(aws: SageMakerService) -> None:
    aws.logs.empty_pages_every = 2
    aws.logs.page_events = 10
    logs = training(aws, lines={"algo-1": numbered(1, 95)})
    (name,) = streams(logs)

    assert read(logs, name) == [f"algo-1 line {index}" for index in range(95)]
    assert len(aws.received("GetLogEvents")) > 12


def test_without_start_from_head_the_newest_lines_come_first(aws: SageMakerService) -> None:
    logs = training(aws, lines={"algo-1": numbered(1, 100)})
    (name,) = streams(logs)
    asked = {"logGroupName": GROUP, "logStreamName": name, "limit": 10}

    newest = logs.get_log_events(**asked)
    before = logs.get_log_events(**asked, nextToken=newest["nextBackwardToken"])

    assert [event["message"][-2:] for event in newest["events"]] == [f"{n}" for n in range(90, 100)]
    assert [event["message"][-2:] for event in before["events"]] == [f"{n}" for n in range(80, 90)]


def test_ten_million_lines_cost_nothing_until_they_are_read(aws: SageMakerService) -> None:
    made: list[int] = []

    def make(index: int) -> tuple[int, str]:
        made.append(index)
        return index, f"line {index}"

    logs = training(aws, lines={"algo-1": Generated(10_000_000, make)})
    (name,) = streams(logs)
    newest = logs.get_log_events(logGroupName=GROUP, logStreamName=name, limit=3)

    assert [event["message"] for event in newest["events"]] == [
        f"line {index}" for index in range(9_999_997, 10_000_000)
    ]
    assert len(made) < 200


def test_the_start_is_included_and_the_end_is_not(aws: SageMakerService) -> None:
    logs = training(aws, lines={"algo-1": numbered(1, 10, every=2)})
    (name,) = streams(logs)
    start = int(aws.clock.now() * 1000)

    assert len(read(logs, name, startTime=start + 1, endTime=start + 3)) == 4
    # A search includes both.
    assert len(searched(logs, startTime=start + 1, endTime=start + 3)) == 6


def test_a_search_merges_the_hosts_by_time_and_names_every_event(aws: SageMakerService) -> None:
    hosts = {f"algo-{host}": numbered(host, 1_000, every=3) for host in range(1, 6)}
    logs = training(aws, lines=hosts)
    aws.logs.page_events = 77
    training(aws, name="other", lines={"algo-1": ["of another job"]})

    events = searched(logs, logStreamNamePrefix="job-1/")

    assert len(events) == 5_000
    assert len({event["eventId"] for event in events}) == 5_000
    times = [event["timestamp"] for event in events]
    assert times == sorted(times)
    for host in range(1, 6):
        own = [one["message"] for one in events if f"/algo-{host}-" in one["logStreamName"]]
        assert own == [f"algo-{host} line {index}" for index in range(1_000)]


def test_a_search_that_has_gone_by_misses_an_earlier_line_that_comes_late(
    aws: SageMakerService,
) -> None:
    lines, late = Growing(), Growing()
    for index in range(4):
        lines.add(index, f"line {index}")
    late.add(1, "late")
    logs = training(aws, lines={"algo-1": lines, "algo-2": late}, hidden={"algo-2": 1})
    first = logs.filter_log_events(logGroupName=GROUP, limit=3)
    second = logs.filter_log_events(logGroupName=GROUP, nextToken=first["nextToken"])

    assert [event["message"] for event in second["events"]] == ["line 3"]
    assert len(searched(logs)) == 5


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("", 4),
        ('"launch: proof:"', 1),
        ("launch", 2),
        ("launch proof", 1),
        ("?proof ?epoch", 2),
        ("launch -proof", 1),
        ("Launch", 0),
    ],
)
def test_a_search_takes_the_patterns_of_the_service(
    aws: SageMakerService, pattern: str, found: int
) -> None:
    lines = ["launch: proof: world size 2", "launch: warning: x", "epoch 1", "done"]
    logs = training(aws, lines={"algo-1": lines})

    assert len(searched(logs, filterPattern=pattern)) == found


@pytest.mark.parametrize("token", ["nonsense", "f/12/s"])
def test_a_token_that_was_never_given_is_refused(aws: SageMakerService, token: str) -> None:
    logs = training(aws, lines={"algo-1": ["a"]})
    (name,) = streams(logs)

    with pytest.raises(ClientError, match="The specified nextToken is invalid"):
        logs.get_log_events(logGroupName=GROUP, logStreamName=name, nextToken=token)
    with pytest.raises(ClientError, match="The specified nextToken is invalid"):
        logs.filter_log_events(logGroupName=GROUP, nextToken=token)


def test_lines_with_times_appear_as_the_clock_goes_on(aws: SageMakerService) -> None:
    logs = training(aws, lines={"algo-1": ["0 s", "1 s", "2 s", "3 s"]}, timed=True)
    (name,) = streams(logs)

    assert read(logs, name) == ["0 s"]
    aws.clock.advance(2)
    assert read(logs, name) == ["0 s", "1 s", "2 s"]
    client(aws, "sagemaker").stop_training_job(TrainingJobName="job-1")
    aws.clock.advance(10)
    assert read(logs, name) == ["0 s", "1 s", "2 s"]


def test_lines_may_come_after_the_job_has_ended(aws: SageMakerService) -> None:
    logs = training(aws, lines={"algo-1": ["launch: proof: x"]}, lines_late=30.0)
    aws.jobs.run_to("job-1", "Completed")
    (name,) = streams(logs)

    assert read(logs, name) == []
    aws.clock.advance(30)
    assert read(logs, name) == ["launch: proof: x"]


def test_a_run_after_an_interruption_has_streams_of_its_own(aws: SageMakerService) -> None:
    logs = training(
        aws, lines={"algo-1": ["again"]}, interrupted_lines={"algo-1": ["first"]}, interruptions=1
    )
    aws.jobs.run_to("job-1", "Interrupted")
    aws.jobs.run_to("job-1", "Training")

    assert [read(logs, name) for name in streams(logs)] == [["first"], ["again"]]


def test_a_line_without_text_is_no_event(aws: SageMakerService) -> None:
    logs = training(aws, lines={"algo-1": ["a", "", "b"]})
    (name,) = streams(logs)

    assert read(logs, name) == ["a", "b"]
    assert [event["message"] for event in searched(logs)] == ["a", "b"]


@pytest.mark.storm
def test_very_many_lines_come_whole_through_throttled_pages(
    aws: SageMakerService,
) -> None:
    count = storm(10_000, small=1_000)
    hosts = {f"algo-{host}": numbered(host, count, every=7) for host in range(1, 21)}
    training(aws, lines=hosts)
    fault = aws.faults.add(Refuse(THROTTLED), "FilterLogEvents", every=5)
    logs = client(aws, "logs", attempts=5)

    last = dict.fromkeys(range(1, 21), -1)
    for event in searched(logs, logStreamNamePrefix="job-1/"):
        host, _, index = event["message"].removeprefix("algo-").partition(" line ")
        assert int(index) == last[int(host)] + 1
        last[int(host)] = int(index)

    assert set(last.values()) == {count - 1}
    assert fault.hits


def test_the_first_line_of_a_time_is_found_among_many_of_the_same() -> None:
    lines = numbered(1, 100, every=10)

    assert [first_from(lines, time, 100) for time in (0, 3, 9, 10)] == [0, 30, 90, 100]
