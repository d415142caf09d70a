"""`launch vertex` against a service on loopback: one job, whatever happens on the way."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from google.cloud.aiplatform_v1 import CustomJob

from launchers.core.cloud.job import Request
from launchers.core.cloud.sending import RetryBudget, send_once
from launchers.core.model.jobs import JobDefinition, JobHandle, Listener
from launchers.core.model.problems import LaunchError
from launchers.core.records import nonce
from launchers.core.records.entry import INTENT
from launchers.core.records.ledger import Ledger
from launchers.core.roles import SILENT
from launchers.vertex.service.custom_job import CustomJob as SentJob
from launchers.vertex.service.session import Session
from tests.cli.command import Launch
from tests.fakes.faults import ARRIVED, HANDLED, READ, WAYS, Call, Drop, Refuse
from tests.fakes.google_clients import create, job_document
from tests.fakes.google_scenarios import VertexScenario
from tests.fakes.google_wire import DEADLINE, INTERNAL, UNAVAILABLE
from tests.fakes.job_scenarios import BY_HAND
from tests.fakes.stamps import nonce_of
from tests.fakes.vertex_service import VertexService
from tests.refusals import refused
from tests.selection import storm
from tests.submit_children import Killer
from tests.submitting import children
from tests.vertex.service.submitting import GPUS, Bench, bench, session_of

QUICK = RetryBudget(first=0.001, longest=0.01, total=60.0)


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


def test_a_job_is_submitted_followed_and_proven(tried: Bench):
    answer = tried.submit()
    assert answer.code == 0, answer.err
    assert "[host-1/0] launch: proof: world size 8" in answer.out
    assert "succeeded" in answer.err
    assert "/model" in answer.err
    (job,) = tried.google.jobs
    console = "https://console.cloud.google.com/vertex-ai/locations/us-central1/training/"
    assert f"{console}{job.id}?project=training-project" in answer.err


def test_the_message_on_the_wire_is_the_printed_document(tried: Bench):
    printed = tried.submit("--dry-run", "--bucket", tried.google.bucket)
    assert printed.code == 0
    (listed,) = [line for line in printed.err.splitlines() if "placeholder" in line]
    assert "containerSpec.env.LAUNCH_NONCE = PLACEHOLDER-NONCE" in listed
    assert tried.submit("--bucket", tried.google.bucket).code == 0
    (sent,) = tried.google.received("customJobs.create")
    meant = nonce.filled_text(printed.out, nonce_of(json.loads(sent.body)))
    assert CustomJob.from_json(sent.body) == CustomJob.from_json(meant)
    (job,) = tried.google.jobs
    assert job.document == json.loads(meant)


def test_nothing_is_sent_without_an_image(tried: Bench):
    words = [word for word in tried.words() if word not in ("--image", tried.image)]
    answer = tried.ask(*words)
    assert answer.code == 2
    assert "launch image" in answer.err
    assert not tried.google.received("customJobs.create")


def definition_of(number: int) -> JobDefinition:
    """A small document that the service takes."""
    name = f"dropped-{number:08x}-1"
    labels = {"launch-digest": f"{number:08x}", "launch-run": "1"}
    document = job_document(name, labels=labels)
    return JobDefinition("vertex", name, 8, json.dumps(document, indent=1) + "\n", document)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[VertexService, Session]]:
    with VertexService() as google:
        google.jobs.checks_quotas = False
        google.jobs.scenario = VertexScenario(pace=BY_HAND)
        yield google, session_of(google, monkeypatch)


def send(
    google: VertexService,
    session: Session,
    number: int,
    may_be_sent: bool = False,
    budget: RetryBudget = QUICK,
    listener: Listener = SILENT,
) -> str:
    """See that the job exists, by an intent of now; gives its resource name."""
    definition = definition_of(number)
    job = SentJob(session, JobHandle("vertex", definition.name), listener)
    request = Request(definition, google.clock.now())
    return send_once(job, request, may_be_sent, budget=budget)["resource"]


@pytest.mark.storm
def test_lost_connections_make_one_job_each(
    service: tuple[VertexService, Session], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LAUNCH_POLL_SECONDS", "0.001")
    google, session = service
    points = [(way, point) for way in WAYS for point in (ARRIVED, READ, HANDLED)]
    resources = []
    jobs = storm(200, small=36)
    for number in range(jobs):
        way, point = points[number % len(points)]
        google.faults.clear()
        # The lists before and after it may be lost, too.
        for operation in ("customJobs.create", "customJobs.list")[: 1 + number % 2]:
            google.faults.add(Drop(way), operation, point=point, times=1 + number % 3)
        resources.append(send(google, session, number))
    assert [job.resource.rpartition("/")[2] for job in google.jobs] == [
        resource.rpartition("/")[2] for resource in resources
    ]
    assert len({job.name for job in google.jobs}) == jobs


@pytest.mark.parametrize("point", [READ, HANDLED])
@pytest.mark.parametrize("error", [INTERNAL, UNAVAILABLE, DEADLINE])
def test_a_5xx_leaves_a_doubt_that_is_cleared(
    service: tuple[VertexService, Session], error: Exception, point: str
):
    google, session = service
    google.faults.add(Refuse(error), "customJobs.create", point=point, times=3)
    send(google, session, 1)
    assert len(google.jobs) == 1


@pytest.mark.parametrize("misses", [1, 3])
def test_a_list_that_does_not_know_the_new_job_yet_makes_no_second_one(
    service: tuple[VertexService, Session], misses: int
):
    google, session = service
    google.jobs.list_misses = misses
    google.faults.add(Drop(), "customJobs.create", point=HANDLED, times=1)
    send(google, session, 1)
    assert len(google.jobs) == 1


def test_a_service_that_never_answers_leaves_a_doubt_that_says_so(
    service: tuple[VertexService, Session],
):
    google, session = service
    google.faults.add(Refuse(UNAVAILABLE), "customJobs.create")
    with refused("in-doubt", "run the same command again"):
        send(google, session, 1, budget=RetryBudget(first=0.001, longest=0.01, total=0.05))
    assert not len(google.jobs)


@pytest.mark.parametrize("may_be_sent", [False, True])
def test_a_job_that_differs_from_the_intent_is_not_adopted(
    service: tuple[VertexService, Session], may_be_sent: bool
):
    google, session = service
    ours = definition_of(1)
    spec = json.loads(json.dumps(ours.document["jobSpec"]))
    spec["workerPoolSpecs"][0]["containerSpec"]["imageUri"] = "another:1"
    create(google, name=ours.name, labels=ours.document["labels"], jobSpec=spec)
    with pytest.raises(LaunchError, match="the name is taken"):
        send(google, session, 1, may_be_sent)
    assert len(google.jobs) == 1


def test_a_job_that_is_older_than_the_intent_is_not_adopted(
    service: tuple[VertexService, Session],
):
    google, session = service
    ours = definition_of(1)
    create(google, name=ours.name, labels=ours.document["labels"])
    google.clock.advance(3600)
    with pytest.raises(LaunchError, match="the name is taken"):
        send(google, session, 1, may_be_sent=True)


def test_of_two_jobs_of_one_intent_the_older_is_followed_and_the_other_named(
    service: tuple[VertexService, Session],
):
    google, session = service
    ours = definition_of(1)
    for _ in range(2):
        create(google, name=ours.name, labels=ours.document["labels"])
        google.clock.advance(1)
    told: list[str] = []

    class Listening(Listener):
        def say(self, text: str) -> None:
            told.append(text)

    resource = send(google, session, 1, may_be_sent=True, listener=Listening())
    first, second = google.jobs
    assert resource.endswith(first.id)
    assert f"launch cancel vertex:{second.id}" in told[0]


@pytest.mark.storm
def test_kills_at_every_request_of_a_submission_never_make_two_jobs(tried: Bench):
    tried.google.jobs.scenario = VertexScenario(pace=BY_HAND)
    tried.google.jobs.checks_quotas = False
    tried.google.account.quotas[GPUS, "us-central1"] = 10_000
    module, environment = "tests.vertex.service.submit_children", tried.environment()
    with children(module, tried.launch, environment, tried.image) as process:
        killer = Killer(process, tried.google)
        kills = storm(200, small=40)
        # The first one also uploads.
        count, index = [killer.requests(seed) for seed in (-2, -1)][-1], 0
        while killer.ended["killed"] < kills and index < 1.5 * kills:
            killer.submit_and_kill(index, count)
            known = {entry.name for entry in Ledger(tried.launch.home).jobs()}
            assert {job.name for job in tried.google.jobs} <= known
            assert killer.submit(index) == 0
            index += 1
    assert killer.ended["killed"] == kills
    assert len(tried.google.jobs) == 2 + index
    entries = {entry.name: entry for entry in Ledger(tried.launch.home).jobs()}
    assert set(entries) == {job.name for job in tried.google.jobs}
    assert not [entry for entry in entries.values() if entry.state == INTENT]
    for job in tried.google.jobs:
        assert entries[job.name].details["resource"].endswith(job.id)
    assert not list((tried.launch.home / "locks").iterdir())


def test_two_launchers_at_once_make_one_job(tried: Bench):
    tried.google.jobs.scenario = VertexScenario(pace=BY_HAND)
    both = [tried.launch.start(*tried.words("--detach"), **tried.environment()) for _ in range(2)]
    answers = [process.communicate(timeout=60)[1] for process in both]
    assert len(tried.google.jobs) == 1, answers
    assert 0 in [process.returncode for process in both]


def test_a_job_whose_launcher_was_killed_is_found_by_its_name_alone(tried: Bench):
    tried.google.jobs.scenario = VertexScenario(pace=BY_HAND)
    victim: list[int] = []
    process = None

    def kill(_: object) -> None:
        assert process
        process.kill()

    tried.google.faults.add(Call(kill), "customJobs.create", point=HANDLED, times=1)
    process = tried.launch.start(*tried.words(), **tried.environment())
    process.communicate(timeout=60)
    assert not victim
    (job,) = tried.google.jobs
    (entry,) = Ledger(tried.launch.home).jobs()
    assert entry.state == INTENT
    assert "resource" not in entry.details
    assert "pending" in tried.ask("list").out
    assert "stopp" in tried.ask("cancel", job.name).err
    assert len(tried.google.received("customJobs.cancel")) == 1
