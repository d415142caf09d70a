"""The fake Cloud Logging gives lines out as the service does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.fakes.clock import Clock
from tests.fakes.google_clients import create, job_client, session
from tests.fakes.google_scenarios import VertexScenario
from tests.fakes.job_scenarios import BY_HAND
from tests.fakes.log_lines import Generated
from tests.fakes.vertex_service import VertexService


class Logs:
    """One running job and a session that reads its log."""

    def __init__(self, google: VertexService, clock: Clock | None = None):
        self.google, self.clock, self._session = google, clock, session(google)

    def start(self, scenario: VertexScenario) -> None:
        self.google.jobs.scenario = scenario
        create(self.google)
        self.google.jobs.run_to("job-1", "RUNNING")

    @property
    def job(self) -> str:
        return self.google.jobs.get("job-1").id

    def ask(self, text: str = "", **more: Any) -> Any:
        """One request's answer; the filter names the job unless it is given whole."""
        about = f'resource.type="ml_job" AND resource.labels.job_id="{self.job}"'
        asked = {
            "resourceNames": ["projects/training-project"],
            "filter": f"{about} AND {text}" if text else about,
            **more,
        }
        return self._session.post(f"{self.google.url}/v2/entries:list", json=asked)

    def pages(self, text: str = "", **more: Any) -> Iterator[list[dict[str, Any]]]:
        token: Mapping[str, Any] = {}
        while True:
            answer = self.ask(text, **more, **token)
            assert answer.status_code == 200, answer.text
            page = answer.json()
            yield page.get("entries", [])
            if "nextPageToken" not in page:
                return
            token = {"pageToken": page["nextPageToken"]}

    def entries(self, text: str = "", **more: Any) -> list[dict[str, Any]]:
        return [entry for page in self.pages(text, **more) for entry in page]

    def texts(self, text: str = "", **more: Any) -> list[str]:
        return [message(entry) for entry in self.entries(text, **more)]


def message(entry: Mapping[str, Any]) -> str:
    return str(entry.get("textPayload") or entry["jsonPayload"]["message"])


@pytest.fixture
def logs() -> Iterator[Logs]:
    clock = Clock(stopped=True)
    with VertexService(clock=clock) as google:
        google.jobs.checks_quotas = False
        yield Logs(google, clock)


@pytest.fixture(autouse=True)
def _nothing_outside(google: VertexService) -> None:
    """The environment of the fixture holds for every client here."""


def held(**more: Any) -> VertexScenario:
    return VertexScenario(pace=BY_HAND, **more)


TWO = {
    "workerpool0-0": [(0, "chief begins"), (20, "chief ends")],
    "workerpool1-0": [(10, "worker begins"), (20, "worker ends")],
}


def test_an_entry_has_what_a_reader_needs(logs: Logs) -> None:
    logs.start(held(lines=TWO, severities={"worker": "ERROR"}))
    entries = logs.entries()

    assert [message(one) for one in entries][:2] == ["chief begins", "worker begins"]
    assert len({one["insertId"] for one in entries}) == 4
    first, second = entries[:2]
    assert first["resource"] == {
        "type": "ml_job",
        "labels": {
            "job_id": logs.job,
            "task_name": "workerpool0-0",
            "project_id": "training-project",
        },
    }
    assert (first["severity"], second["severity"]) == ("INFO", "ERROR")
    assert first["logName"] == "projects/training-project/logs/workerpool0-0"
    # Nanoseconds: what is cut to less does not find its entry again.
    for one in entries:
        assert one["timestamp"][19] == "."
        assert one["timestamp"][26:29] != "000"
        assert len(one["timestamp"]) == len(one["receiveTimestamp"]) == 30
        assert one["timestamp"] < one["receiveTimestamp"]


def test_texts_are_in_either_payload(logs: Logs) -> None:
    logs.start(held(lines={"workerpool0-0": ["a"], "service": ["Job is running."]}))

    kinds = {message(one): "textPayload" in one for one in logs.entries()}
    assert kinds == {"a": False, "Job is running.": True}
    assert logs.texts('textPayload:"job"') == ["Job is running."]
    assert logs.texts('jsonPayload.message:"a"') == ["a"]
    logs.google.logs.as_text = True
    assert all("textPayload" in one for one in logs.entries())


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
@pytest.mark.parametrize("order", ["timestamp asc", "timestamp desc", ""])
def test_pages_have_every_entry_once_and_in_order(logs: Logs, size: int, order: str) -> None:
    hosts = [f"workerpool1-{number}" for number in range(4)]
    # Four entries of every timestamp.
    lines = {host: [(index * 5, f"{host}/{index}") for index in range(6)] for host in hosts}
    logs.start(held(lines=lines))
    entries = logs.entries(pageSize=size, orderBy=order)

    assert len(entries) == len({one["insertId"] for one in entries}) == 24
    keys = [(one["timestamp"], one["insertId"]) for one in entries]
    assert keys == sorted(keys, reverse="desc" in order)
    assert len({time for time, _ in keys}) == 6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('resource.labels.task_name="workerpool1-0"', ["worker begins", "worker ends"]),
        ('logName="projects/training-project/logs/workerpool0-0"', ["chief begins", "chief ends"]),
        ('jsonPayload.message:"BEGINS"', ["chief begins", "worker begins"]),
        ('jsonPayload.message="chief ends"', ["chief ends"]),
        ('jsonPayload.message=~"^w.*s$"', ["worker begins", "worker ends"]),
        ('"chief"', ["chief begins", "chief ends"]),
        ('severity>="ERROR"', []),
        ('severity>="INFO" AND "chief"', ["chief begins", "chief ends"]),
        ('NOT resource.labels.task_name="workerpool0-0"', ["worker begins", "worker ends"]),
        ('resource.labels.job_id="1"', []),
        ('timestamp>"2100-01-01T00:00:00Z"', []),
    ],
)
def test_a_filter_finds_what_it_names(logs: Logs, text: str, expected: list[str]) -> None:
    logs.start(held(lines=TWO))

    assert sorted(logs.texts(text)) == sorted(expected)


def test_times_and_ids_of_an_entry_lead_on_from_it(logs: Logs) -> None:
    logs.start(held(lines=TWO))
    entries = logs.entries()
    for place, entry in enumerate(entries):
        time, name = entry["timestamp"], entry["insertId"]
        after = f'(timestamp>"{time}" OR (timestamp="{time}" AND insertId>"{name}"))'
        assert logs.entries(after) == entries[place + 1 :]
        assert logs.entries(f'timestamp>="{time}"')[0]["timestamp"] == time
        assert logs.entries(f'timestamp<"{time}"') == [
            one for one in entries if one["timestamp"] < time
        ]
        assert logs.entries(f'insertId="{name}"') == [entry]
        zoned = time.replace("Z", "+00:00")
        assert entry in logs.entries(f'timestamp<="{zoned}"')


def test_an_entry_that_arrives_late_lies_before_those_already_read(logs: Logs) -> None:
    lines = {"workerpool0-0": [(index * 1000, f"line {index}") for index in range(5)]}
    logs.start(held(lines=lines, timed=True, late_lines={"workerpool0-0": {1: 60.0}}))
    assert logs.clock is not None
    logs.clock.advance(10)
    assert logs.texts() == ["line 0", "line 2", "line 3", "line 4"]
    last = logs.entries()[-1]["timestamp"]

    logs.clock.advance(51)

    assert logs.texts(f'timestamp>"{last}"') == []
    assert logs.texts() == [f"line {index}" for index in range(5)]


def test_an_entry_may_be_missing_for_a_number_of_reads(logs: Logs) -> None:
    lines = {"workerpool0-0": ["a", "b", "c"]}
    logs.start(held(lines=lines, late_reads={"workerpool0-0": {1: 2}}))

    assert [logs.texts() for _ in range(3)] == [["a", "c"], ["a", "c"], ["a", "b", "c"]]


def test_what_arrives_between_two_pages_is_not_on_the_second(logs: Logs) -> None:
    lines = {"workerpool0-0": ["a", "b", "c", "d"]}
    logs.start(held(lines=lines, late_reads={"workerpool0-0": {0: 1}}))

    assert logs.texts(pageSize=2) == ["b", "c", "d"]
    assert logs.texts(pageSize=2) == ["a", "b", "c", "d"]


def test_a_replica_that_starts_late_writes_late(logs: Logs) -> None:
    logs.start(held(lines=TWO, late={"workerpool1-0": 120}))
    assert logs.texts() == ["chief begins", "chief ends"]
    assert logs.clock is not None
    logs.clock.advance(120)

    assert len(logs.texts()) == 4


def test_lines_come_late_also_past_the_end(logs: Logs) -> None:
    logs.start(held(lines=TWO, lines_late=30))
    logs.google.jobs.step("job-1")
    assert logs.google.jobs.get("job-1").ended
    assert logs.texts() == []
    assert logs.clock is not None
    logs.clock.advance(30)

    assert len(logs.texts()) == 4


def test_a_job_that_was_started_again_has_the_lines_of_both_runs(logs: Logs) -> None:
    scenario = held(
        interruptions=1,
        interrupted_lines={"workerpool0-0": ["first run"]},
        lines={"workerpool0-0": ["second run"]},
    )
    logs.start(scenario)
    assert logs.texts() == ["first run"]
    logs.google.jobs.step("job-1", 2)
    assert logs.clock is not None
    logs.clock.advance(1)

    assert sorted(logs.texts()) == ["first run", "second run"]


def test_a_job_that_does_not_run_yet_has_no_entries(logs: Logs) -> None:
    logs.google.jobs.scenario = held(lines=TWO)
    create(logs.google)

    assert logs.ask().json() == {}


def test_lines_of_other_jobs_are_not_in_a_jobs_log(logs: Logs) -> None:
    logs.start(held(lines={"workerpool0-0": ["mine"]}))
    logs.google.jobs.scenario = VertexScenario(lines={"workerpool0-0": ["other"]})
    name = create(logs.google, name="other").name
    job_client(logs.google).get_custom_job(name=name)
    assert logs.clock is not None
    logs.clock.advance(1)

    assert logs.texts() == ["mine"]
    everything = logs.ask(filter='resource.type="ml_job"').json()["entries"]
    assert sorted(map(message, everything)) == ["mine", "other"]
    assert logs.ask(filter='resource.type="gce_instance"').json() == {}


def test_more_reads_than_the_quota_are_exhausted_until_a_minute_has_passed(logs: Logs) -> None:
    logs.start(held(lines=TWO))
    logs.google.logs.reads_per_minute = 60
    statuses = [logs.ask().status_code for _ in range(61)]

    assert statuses == [200] * 60 + [429]
    error = logs.ask().json()["error"]
    assert error["status"] == "RESOURCE_EXHAUSTED"
    assert "Read requests per minute" in error["message"]
    assert logs.clock is not None
    logs.clock.advance(60)
    assert logs.ask().status_code == 200


def test_an_empty_page_may_come_before_the_end(logs: Logs) -> None:
    logs.start(held(lines={"workerpool0-0": [f"{index}" for index in range(9)]}))
    logs.google.logs.empty_pages_every = 2
    pages = list(logs.pages(pageSize=3))

    assert [] in pages[:-1]
    assert [message(one) for page in pages for one in page] == [f"{index}" for index in range(9)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"pageSize": 1001},
        {"orderBy": "severity"},
        {"resourceNames": []},
        {"pageToken": "made up"},
        {"filter": "resource.type="},
        {"filter": 'timestamp>="yesterday"'},
        {"filter": 'severity="LOUD"'},
        {"filter": 'httpRequest.status="200"'},
    ],
    ids=str,
)
def test_a_request_that_makes_no_sense_is_an_invalid_argument(
    logs: Logs, wrong: Mapping[str, Any]
) -> None:
    logs.start(held(lines=TWO))

    answer = logs.ask(**wrong)
    assert (answer.status_code, answer.json()["error"]["status"]) == (400, "INVALID_ARGUMENT")


def test_a_page_token_of_another_filter_is_refused(logs: Logs) -> None:
    logs.start(held(lines=TWO))
    token = logs.ask(pageSize=1).json()["nextPageToken"]

    assert logs.ask('"chief"', pageSize=1, pageToken=token).status_code == 400


def test_the_log_of_others_is_denied(logs: Logs) -> None:
    answer = session(logs.google).post(
        f"{logs.google.url}/v2/entries:list", json={"resourceNames": ["projects/somebody-elses"]}
    )

    assert (answer.status_code, answer.json()["error"]["status"]) == (403, "PERMISSION_DENIED")


def test_two_hundred_thousand_lines_are_read_from_any_place_without_making_them_all(
    logs: Logs,
) -> None:
    made = []

    def line(index: int) -> tuple[int, str]:
        made.append(index)
        return index, f"line {index}"

    logs.start(held(lines={"workerpool0-0": Generated(200_000, line)}))
    first = next(logs.pages(pageSize=1))[0]
    assert message(first) == "line 0"
    last = next(logs.pages(pageSize=1, orderBy="timestamp desc"))[0]
    assert message(last) == "line 199999"
    page = next(logs.pages(f'timestamp>="{last["timestamp"]}"', pageSize=1000))

    assert page == [last]
    assert len(made) < 500
