"""Following a custom job on a service on loopback: every line once, in order, and the verdict."""

from __future__ import annotations

import threading
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from launchers.core.model.jobs import JobHandle, Listener
from launchers.core.model.problems import LaunchError
from launchers.vertex.launcher import VERTEX
from launchers.vertex.service.log_pages import LogPages
from launchers.vertex.service.resolve import adopt
from launchers.vertex.service.session import Session
from tests.cli.command import Launch
from tests.fakes.faults import CLOSED, HALF_BODY, RESET, Call, Drop, Refuse
from tests.fakes.google_clients import create, job_client, job_document
from tests.fakes.google_scenarios import VertexScenario
from tests.fakes.google_wire import TOO_MANY_READS, UNAVAILABLE
from tests.fakes.job_scenarios import BY_HAND
from tests.fakes.log_lines import Generated, Lines
from tests.fakes.vertex_service import LOCATION, VertexService
from tests.selection import storm
from tests.vertex.service.submitting import CHIEF, Bench, bench, proven_job, session_of

pytestmark = pytest.mark.processes

ELSEWHERE = ("--region", LOCATION)


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[VertexService]:
    with VertexService() as google:
        session_of(google, monkeypatch)
        yield google


def start(google: VertexService, scenario: VertexScenario, world_size: int = 8) -> JobHandle:
    """A job of that scenario, made without the launcher."""
    google.jobs.scenario = scenario
    spec = job_document("watched")["jobSpec"]
    for pool in spec["workerPoolSpecs"]:
        size = {"name": "LAUNCH_WORLD_SIZE", "value": str(world_size)}
        pool["containerSpec"] = {**pool["containerSpec"], "env": [size]}
    job = create(google, name="watched", jobSpec=spec)
    where = {"project": google.account.project, "location": LOCATION, "region": LOCATION}
    return JobHandle("vertex", "watched", {**where, "resource": job.name})


def pages_of(google: VertexService, handle: JobHandle) -> LogPages:
    """The reader of a job's log, which does not wait."""
    session = Session(google.account.project, LOCATION)
    return LogPages(session, handle.details["resource"], sleep=lambda _: None)


def followed(handle: JobHandle, since: float = 0.0) -> list[tuple[str, int | None, str]]:
    """All lines of the job, to its end."""
    lines = VERTEX.service.logs(handle, since, follow=True)
    return [(line.host, line.rank, line.text) for line in lines]


def numbered(host: str, count: int) -> Lines:
    return Generated(count, lambda index: (index // 7, f"{host} line {index}"))


def twenty_replicas(service: VertexService, count: int) -> JobHandle:
    """A job whose replicas write ``count`` lines each, some seen late."""
    names = [CHIEF, *(f"workerpool1-{number}" for number in range(19))]
    late = dict.fromkeys(names[10:], 0.2)
    hidden = {names[3]: 3, names[4]: 9}
    lines = {name: numbered(name, count) for name in names}
    return start(service, VertexScenario(lines=lines, late=late, hidden=hidden))


def counted_in_order(handle: JobHandle) -> dict[str, int]:
    """Lines by replica, each found to be the one that comes next."""
    seen: Counter[str] = Counter()
    for line in VERTEX.service.logs(handle, follow=True):
        assert line.text == f"{line.host} line {seen[line.host]}"
        seen[line.host] += 1
    return dict(seen)


@pytest.mark.storm
def test_the_lines_of_20_replicas_come_once_each_in_order_a_replica(service: VertexService):
    service.logs.empty_pages_every = 5
    service.faults.add(Refuse(TOO_MANY_READS), "entries.list", every=9)
    service.faults.add(Drop(RESET), "entries.list", every=31)
    service.faults.add(Drop(HALF_BODY), "entries.list", every=37)
    count = storm(10_000, small=1_000)
    seen = counted_in_order(twenty_replicas(service, count))
    assert len(seen) == 20
    assert set(seen.values()) == {count}


@pytest.mark.storm
def test_lines_are_read_in_memory_that_does_not_grow_with_them(service: VertexService):
    peaks = []
    fewer = storm(500, small=150)
    for count in (fewer, 4 * fewer):
        handle = twenty_replicas(service, count)
        tracemalloc.start()
        try:
            counted_in_order(handle)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


def test_lines_of_the_replicas_are_merged_in_time(service: VertexService):
    lines = {
        CHIEF: [(0, "one"), (20, "three"), (40, "five")],
        "workerpool1-0": [(10, "two"), (30, "four"), (50, "six")],
    }
    handle = start(service, VertexScenario(lines=lines))
    texts = [text for _, _, text in followed(handle)]
    assert texts == ["one", "two", "three", "four", "five", "six"]


def test_the_agents_tag_gives_host_and_rank_and_a_line_without_one_its_replica(
    service: VertexService,
):
    lines = {
        CHIEF: ["[host-1/0] a rank's", "[host-1/agent] the agent's", "nobody's"],
        "workerpool1-0": ["[host-2/5] another rank's"],
        "service": ["Job is running."],
    }
    handle = start(service, VertexScenario(lines=lines))
    assert sorted(followed(handle), key=str) == [
        ("host-1", 0, "a rank's"),
        ("host-1", None, "the agent's"),
        ("host-2", 5, "another rank's"),
        ("service", None, "Job is running."),
        (CHIEF, None, "nobody's"),
    ]


@pytest.mark.parametrize("as_text", [False, True])
def test_both_payloads_are_read(service: VertexService, as_text: bool):
    service.logs.as_text = as_text
    handle = start(service, proven_job("hello"))
    assert [text for _, _, text in followed(handle)][-1] == "hello"


def test_a_line_that_comes_late_is_not_lost_and_none_comes_twice(service: VertexService):
    lines = {CHIEF: [f"line {number}" for number in range(40)]}
    late = {CHIEF: {5: 3, 17: 6, 39: 4}}
    handle = start(service, VertexScenario(lines=lines, late_reads=late))
    texts = [text for _, _, text in followed(handle)]
    assert sorted(texts) == sorted(lines[CHIEF])
    on_time = [text for text in texts if text not in ("line 5", "line 17", "line 39")]
    assert on_time == [text for text in lines[CHIEF] if text in on_time]


def test_lines_of_one_timestamp_come_in_their_order_across_pages(service: VertexService):
    service.logs.page_entries = 7
    lines = {CHIEF: [(0, f"line {number}") for number in range(60)]}
    handle = start(service, VertexScenario(lines=lines))
    assert [text for _, _, text in followed(handle)] == [f"line {number}" for number in range(60)]


def test_a_replica_that_begins_late_is_read_from_its_beginning(service: VertexService):
    """Also where others have gone on for longer than what is read again."""
    scenario = VertexScenario(
        lines={
            CHIEF: [(60_000 * number, f"chief {number}") for number in range(10)],
            "workerpool1-0": [(number, f"worker {number}") for number in range(10)],
        },
        hidden={"workerpool1-0": 2},
        paces={"RUNNING": BY_HAND},
    )
    handle = start(service, scenario)
    service.jobs.run_to("watched", "RUNNING")
    pages = pages_of(service, handle)
    rounds = [[line.text for line in pages.round()] for _ in range(4)]
    assert rounds[0] == [f"chief {number}" for number in range(10)]
    assert list(chain.from_iterable(rounds[1:])) == [f"worker {number}" for number in range(10)]


def test_what_was_given_is_not_read_again_from_the_start(service: VertexService):
    lines = {CHIEF: numbered(CHIEF, 5_000)}
    handle = start(service, VertexScenario(lines=lines, paces={"RUNNING": BY_HAND}))
    service.jobs.run_to("watched", "RUNNING")
    pages = pages_of(service, handle)
    assert len(list(pages.round())) == 5_000
    service.forget_requests()
    assert list(pages.round()) == []
    assert len(service.received("entries.list")) <= 2


def test_while_it_runs_only_settled_lines_are_read(
    service: VertexService, monkeypatch: pytest.MonkeyPatch
):
    handle = start(service, proven_job(paces={"RUNNING": BY_HAND}))
    service.jobs.run_to("watched", "RUNNING")
    monkeypatch.setenv("LAUNCH_POLL_SECONDS", "60")
    assert list(VERTEX.service.logs(handle)) == []
    service.jobs.run_to("watched", "SUCCEEDED")
    assert [line.text for line in VERTEX.service.logs(handle)]


def test_since_leaves_out_what_is_older(service: VertexService):
    lines = {CHIEF: [(0, "old"), (60_000, "new")]}
    handle = start(service, VertexScenario(lines=lines))
    service.jobs.run_to("watched", "SUCCEEDED")
    assert [text for _, _, text in followed(handle, service.clock.now() + 30)] == ["new"]


ENDS = [("CANCELLED", "stopped"), ("EXPIRED", "timed out"), ("FAILED", "failed")]


@pytest.mark.parametrize(("outcome", "word"), [*ENDS, ("PARTIALLY_SUCCEEDED", "failed")])
def test_every_end_is_an_end(tried: Bench, outcome: str, word: str):
    tried.google.jobs.scenario = proven_job("last words", outcome=outcome, reason="why it ended")
    answer = tried.submit()
    assert answer.code == 1
    assert "last words" in answer.out
    assert f"\n{word}  train-" in answer.err


def test_states_are_told_in_words(service: VertexService):
    course = ("QUEUED", "PENDING", "RUNNING", "UPDATING", "RUNNING", "PAUSED", "CANCELLING")
    handle = start(service, VertexScenario(course=course, outcome="CANCELLED"))
    told: list[str] = []

    class Listening(Listener):
        def say(self, text: str) -> None:
            told.append(text.removeprefix("Vertex AI: ").partition(":")[0])

    assert list(VERTEX.heard_by(Listening()).service.logs(handle, follow=True)) == []
    words = ["queued", "pending", "running", "updating", "running", "paused", "cancelling"]
    assert [text for text in told if text in (*words, "cancelled")] == [*words, "cancelled"]


def test_a_failure_before_any_rank_names_the_replica(tried: Bench):
    failure = 'launch: failure: {"phase": "starting", "reason": "the bundle is not there"}'
    tried.google.jobs.scenario = VertexScenario(
        outcome="FAILED", reason="exit 2", lines={CHIEF: [failure]}
    )
    answer = tried.submit()
    assert answer.code == 1
    assert f"{CHIEF} failed first: the bundle is not there" in answer.err


def test_expired_credentials_are_waited_for(service: VertexService):
    handle = start(service, proven_job("after the renewal"))
    told = threading.Event()

    def expire(_: object) -> None:
        service.tokens.refusal = ("invalid_grant", "Invalid JWT Signature.")
        service.tokens.expire()

    service.faults.add(Call(expire), "entries.list", times=1)

    class Renewing(Listener):
        def say(self, text: str) -> None:
            if "no longer valid" in text:
                assert "GOOGLE_APPLICATION_CREDENTIALS" in text
                told.set()
                service.tokens.refusal = None

    texts = [line.text for line in VERTEX.heard_by(Renewing()).service.logs(handle, follow=True)]
    assert told.is_set()
    assert texts.count("after the renewal") == 1


@pytest.mark.parametrize("operation", ["customJobs.get", "entries.list"])
def test_lost_connections_and_5xx_are_waited_out(service: VertexService, operation: str):
    handle = start(service, proven_job("to the end"))
    for way in (RESET, CLOSED, HALF_BODY):
        service.faults.add(Drop(way), operation, times=1)
    service.faults.add(Refuse(UNAVAILABLE), operation, times=1)
    assert [text for _, _, text in followed(handle)].count("to the end") == 1


@pytest.fixture
def running(tried: Bench) -> Bench:
    """A job in its training that nothing ends."""
    tried.google.jobs.scenario = proven_job(paces={"RUNNING": BY_HAND})
    assert tried.submit("--detach").code == 0
    (job,) = tried.google.jobs
    tried.google.jobs.run_to(job.name, "RUNNING")
    return tried


@pytest.mark.parametrize("named", ["id", "name", "resource"])
def test_verbs_answer_later_and_for_a_job_from_elsewhere(
    running: Bench, tmp_path: Path, named: str
):
    (job,) = running.google.jobs
    (tmp_path / "other").mkdir()
    other = Launch(tmp_path / "other", running.launch.folder)

    def asked(verb: str) -> str:
        answer = other(verb, f"vertex:{getattr(job, named)}", *ELSEWHERE, **running.environment())
        assert answer.code == (1 if verb == "wait" else 0), answer.err
        return answer.out + answer.err

    assert "running" in asked("status")
    assert "proof" in asked("logs")
    assert "running" in running.ask("list").out
    assert "stop" in asked("cancel")
    assert "had already ended" in asked("cancel")
    assert "stopped" in asked("wait")
    assert running.ask("status", "train").out.startswith("stopped")


@pytest.mark.parametrize("word", ["vertex:nobody", "vertex:1234567890"])
def test_a_job_that_nobody_knows_is_an_error(tried: Bench, word: str):
    answer = tried.ask("status", word, *ELSEWHERE)
    assert answer.code == 2
    assert "no such custom job" in answer.err


def test_a_name_that_several_jobs_have_is_an_error_that_lists_them(service: VertexService):
    for _ in range(2):
        create(service, name="twice")
    with pytest.raises(LaunchError, match="2 jobs of that display name") as caught:
        adopt("twice", LOCATION)
    assert all(job.id in str(caught.value) for job in service.jobs)


def test_a_job_that_was_deleted_is_lost(running: Bench):
    (job,) = running.google.jobs
    running.google.jobs.run_to(job.name, "SUCCEEDED")
    job_client(running.google).delete_custom_job(name=job.resource)
    answer = running.ask("status", "train")
    assert answer.out.startswith("lost")
    assert "deleted" in answer.err
