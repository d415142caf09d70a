"""The fake Vertex AI keeps to what the service does with CustomJobs."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Generator, Mapping
from typing import Any

import pytest
from google.api_core.exceptions import (
    BadRequest,
    Forbidden,
    NotFound,
    TooManyRequests,
)
from google.cloud import aiplatform_v1

from tests.fakes.clock import Clock
from tests.fakes.google_clients import create, job_client, job_document, parent_of, session
from tests.fakes.google_scenarios import VertexScenario, VertexVerdict, exit_message
from tests.fakes.job_runs import runner_of
from tests.fakes.job_scenarios import BY_HAND, Pace
from tests.fakes.vertex_service import VertexService
from tests.waiting import until

LABELS = {"launch-digest": "0123abcd", "launch-run": "1"}


def followed(google: VertexService, name: str) -> list[Any]:
    """What every get says of a job until its end."""
    client, seen = job_client(google), []
    while not seen or not google.jobs.get(name).ended or _state(seen[-1]) not in _ENDS:
        seen.append(client.get_custom_job(name=name))
    return seen


_ENDS = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED", "PARTIALLY_SUCCEEDED")


def _state(job: Any) -> str:
    return str(job.state.name.removeprefix("JOB_STATE_"))


def post(google: VertexService, document: Mapping[str, Any]) -> Any:
    """A create that no client's model has looked at."""
    url = f"{google.url}/v1/{parent_of(google)}/customJobs"
    return session(google).post(url, data=json.dumps(document))


@pytest.mark.parametrize(
    ("scenario", "states"),
    [
        (VertexScenario(), ["PENDING", "RUNNING", "SUCCEEDED"]),
        (VertexScenario(queued=True), ["QUEUED", "PENDING", "RUNNING", "SUCCEEDED"]),
        (VertexScenario(outcome="FAILED"), ["PENDING", "RUNNING", "FAILED"]),
        (VertexScenario(outcome="FAILED", never_started=True), ["PENDING", "FAILED"]),
        (VertexScenario(outcome="EXPIRED", queued=True, never_started=True), None),
        (VertexScenario(outcome="PARTIALLY_SUCCEEDED"), None),
        (VertexScenario(outcome="CANCELLED"), ["PENDING", "RUNNING", "CANCELLING", "CANCELLED"]),
        (
            VertexScenario(interruptions=1),
            ["PENDING", "RUNNING", "PENDING", "RUNNING", "SUCCEEDED"],
        ),
        (
            VertexScenario(course=("PENDING", "RUNNING", "PAUSED", "UPDATING", "RUNNING")),
            ["PENDING", "RUNNING", "PAUSED", "UPDATING", "RUNNING", "SUCCEEDED"],
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_a_job_goes_through_its_states_in_order(
    google: VertexService, scenario: VertexScenario, states: list[str] | None
) -> None:
    google.jobs.scenario = scenario
    job = create(google)
    seen = followed(google, job.name)

    wanted = states or [name for name, _ in scenario.states()]
    assert [_state(one) for one in seen] == wanted
    assert _state(job) == wanted[0]
    last = seen[-1]
    assert last.create_time <= last.end_time == last.update_time
    assert ("start_time" in last) is ("RUNNING" in wanted)
    assert ("error" in last) is (scenario.outcome in ("FAILED", "EXPIRED"))


def test_what_was_sent_is_what_is_told(google: VertexService) -> None:
    sent = job_document("job-1", replicas=3, labels=LABELS)
    sent["jobSpec"]["scheduling"] = {"strategy": "SPOT", "timeout": "3600s"}
    job = create(google, name="job-1", replicas=3, labels=LABELS, jobSpec=sent["jobSpec"])

    told = json.loads(aiplatform_v1.CustomJob.to_json(job, use_integers_for_enums=False))
    assert told["displayName"] == "job-1"
    assert told["labels"] == LABELS
    pools = told["jobSpec"]["workerPoolSpecs"]
    assert [pool["replicaCount"] for pool in pools] == ["1", "2"]
    assert pools[0]["machineSpec"]["acceleratorType"] == "NVIDIA_L4"
    # What the service fills in.
    assert pools[0]["diskSpec"] == {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100}
    assert told["jobSpec"]["scheduling"]["strategy"] == "SPOT"
    assert google.jobs.get("job-1").replicas == ["workerpool0-0", "workerpool1-0", "workerpool1-1"]
    assert job.name == google.jobs.get("job-1").resource
    assert job.name.startswith("projects/123456789012/locations/us-central1/customJobs/")


def test_enumerations_are_numbers_where_that_is_asked_and_names_elsewhere(
    google: VertexService,
) -> None:
    name = create(google).name
    url, call = f"{google.url}/v1/{name}", session(google)

    assert call.get(url).json()["state"] == "JOB_STATE_PENDING"
    assert call.get(url, params={"$alt": "json;enum-encoding=int"}).json()["state"] == 3


def test_two_creates_of_one_name_are_two_jobs(google: VertexService) -> None:
    first, second = create(google, name="same"), create(google, name="same")

    assert first.name != second.name
    found = job_client(google).list_custom_jobs(
        request={"parent": parent_of(google), "filter": 'display_name="same"'}
    )
    assert [job.name for job in found] == [second.name, first.name]
    with pytest.raises(KeyError, match="2 jobs"):
        google.jobs.get("same")


def test_times_are_those_of_the_clock() -> None:
    clock = Clock(stopped=True)
    with VertexService(clock=clock) as google:
        google.jobs.scenario = VertexScenario(pace=Pace(seconds=60))
        name = create(google).name
        clock.advance(1000)
        told = job_client(google).get_custom_job(name=name)

    assert (told.start_time - told.create_time).total_seconds() == 60
    assert (told.end_time - told.create_time).total_seconds() == 120


def test_a_job_moves_by_hand(google: VertexService) -> None:
    google.jobs.scenario = VertexScenario(pace=BY_HAND)
    create(google)

    google.jobs.run_to("job-1", "RUNNING")
    assert google.jobs.get("job-1").state == "RUNNING"
    assert google.jobs.step("job-1") == "SUCCEEDED"
    with pytest.raises(ValueError, match="ended as SUCCEEDED"):
        google.jobs.run_to("job-1", "FAILED")


def test_a_failed_job_says_which_replica_ended_how(google: VertexService) -> None:
    google.jobs.scenario = VertexScenario(outcome="FAILED")
    usual = followed(google, create(google, name="usual").name)[-1]
    google.jobs.scenario = VertexScenario(outcome="FAILED", code=8, reason="no more of them")
    scripted = followed(google, create(google, name="scripted").name)[-1]

    assert usual.error.code == 3
    assert usual.error.message == exit_message(google.jobs.get("usual").id, google.account.number)
    assert usual.error.message.startswith(
        "The replica workerpool0-0 exited with a non-zero status of 1. "
    )
    assert (scripted.error.code, scripted.error.message) == (8, "no more of them")


def test_a_cancelled_job_is_cancelling_and_then_cancelled(google: VertexService) -> None:
    google.jobs.scenario = VertexScenario(paces={"RUNNING": BY_HAND})
    name, client = create(google).name, job_client(google)
    google.jobs.run_to("job-1", "RUNNING")
    client.cancel_custom_job(name=name)
    client.cancel_custom_job(name=name)

    assert [_state(one) for one in followed(google, name)] == ["CANCELLING", "CANCELLED"]
    with pytest.raises(BadRequest, match="in state JOB_STATE_CANCELLED"):
        client.cancel_custom_job(name=name)
    google.jobs.refuses_late_cancel = False
    client.cancel_custom_job(name=name)


def test_a_job_is_deleted_once_it_has_ended(google: VertexService) -> None:
    name, client = create(google).name, job_client(google)
    with pytest.raises(BadRequest):
        client.delete_custom_job(name=name)
    followed(google, name)

    client.delete_custom_job(name=name).result(timeout=30)

    assert len(google.jobs) == 0
    with pytest.raises(NotFound):
        client.get_custom_job(name=name)


@pytest.mark.parametrize("operation", ["get_custom_job", "cancel_custom_job", "delete_custom_job"])
def test_a_job_that_is_not_there_is_not_found(google: VertexService, operation: str) -> None:
    name = create(google).name
    elsewhere = name.replace("us-central1", "europe-west4")

    for wrong in (f"{parent_of(google)}/customJobs/1", elsewhere):
        with pytest.raises(NotFound, match="does not exist"):
            getattr(job_client(google), operation)(name=wrong)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"displayName": ""}, "display_name; Message: Required"),
        ({"displayName": "x" * 129}, "display_name; Message: Must be at most 128"),
        ({"labels": {"Upper": "x"}}, "Label key 'Upper' is not valid"),
        ({"labels": {"ok": "Not Valid"}}, "Label value 'Not Valid' is not valid"),
        ({"labels": {"k" * 64: "x"}}, "is not valid"),
        ({"labels": {f"k{number}": "" for number in range(65)}}, "At most 64 labels"),
        ({"jobSpec": {}}, "worker_pool_specs; Message: Required"),
        ({"jobSpec": {"workerPoolSpecs": [{}]}}, r"worker_pool_specs\[0\].container_spec"),
        ({"displayName": "", "labels": {"Upper": "x"}}, "2.Field"),
        ({"unknown": 1}, 'no field named "unknown"'),
        ({"state": "JOB_STATE_NONE"}, "Invalid JSON payload"),
        ({"jobSpec": {"scheduling": {"strategy": "CHEAP"}}}, "Invalid JSON payload"),
        ({"displayName": 7}, "Invalid JSON payload"),
    ],
)
def test_what_the_service_refuses_is_an_invalid_argument_with_its_field(
    google: VertexService, change: Mapping[str, Any], message: str
) -> None:
    answer = post(google, {**job_document(), **change})

    error = answer.json()["error"]
    assert (answer.status_code, error["status"]) == (400, "INVALID_ARGUMENT")
    assert error["details"][0]["fieldViolations"]
    assert re.search(message, error["message"])
    assert len(google.jobs) == 0


@pytest.mark.parametrize(
    ("pool", "field"),
    [
        ({"containerSpec": {"command": ["x"]}}, "container_spec.image_uri"),
        ({"machineSpec": {}}, "machine_spec.machine_type"),
        ({"replicaCount": "2"}, "replica_count"),
        ({"replicaCount": "0"}, "replica_count"),
    ],
)
def test_a_first_pool_with_a_mistake_is_refused(
    google: VertexService, pool: Mapping[str, Any], field: str
) -> None:
    document = job_document(replicas=1)
    document["jobSpec"]["workerPoolSpecs"][0].update(pool)

    error = post(google, document).json()["error"]
    assert f"worker_pool_specs[0].{field}" in error["message"]


def test_an_unused_pool_between_others_is_taken(google: VertexService) -> None:
    document = job_document(replicas=2)
    pools = document["jobSpec"]["workerPoolSpecs"]
    pools[1:1] = [{}]

    assert post(google, document).status_code == 200
    assert google.jobs.get("job-1").replicas == ["workerpool0-0", "workerpool2-0"]


def test_a_location_that_is_none_is_refused(google: VertexService) -> None:
    with pytest.raises(BadRequest, match="Location moon is not supported"):
        job_client(google).create_custom_job(
            parent=parent_of(google, "moon"),
            custom_job=aiplatform_v1.CustomJob.from_json(json.dumps(job_document())),
        )


def test_the_client_gets_an_error_that_it_knows(google: VertexService) -> None:
    with pytest.raises(BadRequest, match="List of found errors"):
        create(google, name="x" * 129)


def test_more_gpus_than_the_quota_are_exhausted_until_a_job_ends(google: VertexService) -> None:
    google.account.quotas["custom_model_training_nvidia_l4_gpus", "us-central1"] = 6
    first = create(google, name="first")

    with pytest.raises(TooManyRequests, match=r"custom_model_training_nvidia_l4_gpus") as error:
        create(google, name="second")
    assert error.value.code == 429
    followed(google, first.name)
    create(google, name="second")


def test_a_service_account_needs_to_exist_and_a_caller_who_may_act_as_it(
    google: VertexService,
) -> None:
    trainer = google.account.add_service_account("trainer").email
    for email, may in ((trainer, True), ("nobody@x.iam.gserviceaccount.com", False)):
        spec = {**job_document()["jobSpec"], "serviceAccount": email}
        assert post(google, job_document(jobSpec=spec)).ok is may
    google.account.deny("iam.serviceAccounts.actAs")
    with pytest.raises(Forbidden, match="act as service account"):
        create(google, jobSpec={**job_document()["jobSpec"], "serviceAccount": trainer})


def test_web_access_links_are_there_while_it_runs(google: VertexService) -> None:
    spec = {**job_document()["jobSpec"], "enableWebAccess": True}
    seen = followed(google, create(google, jobSpec=spec).name)

    assert [sorted(one.web_access_uris) for one in seen] == [
        [],
        ["workerpool0-0", "workerpool1-0"],
        [],
    ]


def test_a_job_that_runs_for_real_has_the_lines_and_the_end_of_its_runner(
    google: VertexService,
) -> None:
    def tell(document: Mapping[str, Any], stop: threading.Event, line: Any) -> VertexVerdict:
        line("workerpool0-0", f"runs {document['displayName']}")
        line("workerpool1-0", "fails")
        return VertexVerdict("FAILED", "The replica workerpool1-0 exited", code=3)

    google.jobs.scenario = VertexScenario(runner=runner_of(tell))
    name = create(google).name
    until(lambda: google.jobs.get("job-1").ended)
    told = job_client(google).get_custom_job(name=name)

    assert _state(told) == "FAILED"
    assert told.error.message == "The replica workerpool1-0 exited"
    streams = google.jobs.get("job-1").streams
    assert {one.host: one.lines.at(0)[1] for one in streams} == {
        "workerpool0-0": "runs job-1",
        "workerpool1-0": "fails",
    }


def test_a_job_that_runs_for_real_is_cancelled(google: VertexService) -> None:
    def run(
        _: Mapping[str, Any], stop: threading.Event
    ) -> Generator[tuple[str, str], None, VertexVerdict]:
        yield "workerpool0-0", "begins"
        stop.wait(60)
        return VertexVerdict("FAILED", "ended by SIGTERM")

    google.jobs.scenario = VertexScenario(runner=run)
    name, client = create(google).name, job_client(google)
    assert _state(client.get_custom_job(name=name)) == "RUNNING"
    client.cancel_custom_job(name=name)
    until(lambda: google.jobs.get("job-1").ended)

    told = client.get_custom_job(name=name)
    assert _state(told) == "CANCELLED"
    assert "error" not in told


def test_a_runner_that_breaks_is_a_failed_job(google: VertexService) -> None:
    def run(*_: Any) -> Generator[tuple[str, str], None, VertexVerdict]:
        yield "workerpool0-0", "begins"
        raise RuntimeError("broken")

    google.jobs.scenario = VertexScenario(runner=run)
    name = create(google).name
    until(lambda: google.jobs.get("job-1").ended)

    assert "broken" in job_client(google).get_custom_job(name=name).error.message


def test_an_end_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="'Completed': expected one of SUCCEEDED"):
        VertexScenario(outcome="Completed")
    with pytest.raises(ValueError, match="expected one of SUCCEEDED"):
        VertexVerdict("Completed")
