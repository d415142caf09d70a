"""Project, location and bucket of a submission, and jobs that somebody else submitted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from launchers.core.model.problems import EXIT_BAD_REQUEST, EXIT_PREFLIGHT, LaunchError
from launchers.vertex.launcher import VERTEX
from launchers.vertex.planning.account import Account, account_of
from launchers.vertex.service.resolve import adopt, resolve
from tests.cli.command import Launch
from tests.fakes.google_clients import create
from tests.fakes.vertex_service import LOCATION, VertexService
from tests.refusals import refused
from tests.vertex.documents import IMAGE, job, planned
from tests.vertex.service.submitting import Bench, bench, session_of

NOTHING = ("GOOGLE_CLOUD_PROJECT", "CLOUDSDK_AI_REGION")


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[VertexService]:
    """The service, whose credentials alone this process has: no project, no location."""
    with VertexService() as service:
        session_of(service, monkeypatch)
        for name in NOTHING:
            monkeypatch.delenv(name)
        yield service


def resolved(**asked: Any) -> Account:
    return resolve(account_of(job(**{"region": LOCATION, "image": IMAGE, **asked})))


def test_what_is_given_is_kept_and_nobody_is_asked(google: VertexService):
    found = resolved(project="mine", bucket="gs://a-bucket/")
    assert (found.project, found.location, found.bucket) == ("mine", LOCATION, "a-bucket")
    assert found.project_origin == "--project"
    assert found.location_origin == "--location"
    assert found.bucket_origin == "--bucket"
    assert not google.requests


def test_without_a_project_it_is_that_of_the_credentials(google: VertexService):
    found = resolved()
    assert found.project == google.account.project
    assert found.project_origin == "the credentials' own project"
    assert found.bucket == google.bucket
    assert found.bucket_origin == "the project's default"


def test_a_variable_goes_before_the_credentials(
    google: VertexService, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CLOUDSDK_CORE_PROJECT", "of-the-shell")
    monkeypatch.setenv("LAUNCH_VERTEX_BUCKET", "gs://of-the-shell")
    found = resolved()
    assert (found.project, found.bucket) == ("of-the-shell", "of-the-shell")
    assert found.project_origin == "CLOUDSDK_CORE_PROJECT"
    assert found.bucket_origin == "LAUNCH_VERTEX_BUCKET"


def test_credentials_without_a_project_are_an_error_with_the_ways_to_name_one(
    google: VertexService,
):
    whose = json.loads(google.credentials_file.read_text())
    del whose["project_id"]
    google.credentials_file.write_text(json.dumps(whose))
    with refused("project-missing", "gcloud config set project") as caught:
        resolved()
    assert caught.value.exit_code == EXIT_BAD_REQUEST
    assert "--project" in str(caught.value)


def test_no_credentials_and_no_project_is_an_error_of_the_credentials(
    google: VertexService, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS")
    with refused("cloud-credentials", "gcloud auth application-default login") as caught:
        resolved()
    assert caught.value.exit_code == EXIT_PREFLIGHT


def test_no_location_is_an_error_before_anybody_is_asked(google: VertexService):
    with refused("location-missing", "gcloud config set ai/region") as caught:
        resolved(region=None)
    assert caught.value.exit_code == EXIT_BAD_REQUEST
    assert not google.requests


def test_no_image_is_an_error_before_anybody_is_asked(google: VertexService):
    with refused("image-missing", "launch image build --push") as caught:
        VERTEX.service.resolve(planned(region=LOCATION))
    assert caught.value.exit_code == EXIT_BAD_REQUEST
    assert not google.requests


# What names them -> words of the command, keys of launch.yaml, variables, gcloud's configuration.
ORIGINS: dict[str, tuple[tuple[str, ...], str, dict[str, str], str]] = {
    "--project": (("--project", "P", "--location", "L", "--bucket", "B"), "", {}, ""),
    "launch.yaml": ((), "region: L\nbucket: B\nvertex: {project: P}\n", {}, ""),
    "GOOGLE_CLOUD_PROJECT": (
        (),
        "",
        {
            "GOOGLE_CLOUD_PROJECT": "P",
            "GOOGLE_CLOUD_REGION": "L",
            "LAUNCH_VERTEX_BUCKET": "gs://B",
        },
        "",
    ),
    "gcloud's configuration": ((), "", {}, "[core]\nproject = P\n[ai]\nregion = L\n"),
    "the credentials' own project": (("--location", "L"), "", {}, ""),
}


@pytest.mark.parametrize("origin", ORIGINS)
def test_a_job_goes_where_it_was_said_and_the_plan_says_who_said_it(tried: Bench, origin: str):
    words, keys, variables, configured = ORIGINS[origin]
    google, place = tried.google, "europe-west4"
    bucket = google.objects.add_bucket(f"{google.account.project}-vertex-staging-{place}", place)
    real = {"P": google.account.project, "L": place, "B": bucket.name, "gs://B": bucket.name}

    def filled(text: str) -> str:
        for letter in "PLB":
            text = text.replace(f" {letter}", f" {real[letter]}")
        return text

    folder = tried.launch.home / "gcloud"
    (folder / "configurations").mkdir(parents=True)
    (folder / "configurations" / "config_default").write_text(filled(configured))
    tried.launch.write(
        "launch.yaml",
        f"script: train.py\ninstances: 2\ngpus: 4\nimage: {tried.image}\n"
        + filled(keys).replace("{project: P}", f"{{project: {real['P']}}}"),
    )
    answer = tried.ask(
        "vertex",
        *[real.get(word, word) for word in words],
        **{
            **dict.fromkeys(NOTHING, ""),
            "CLOUDSDK_CONFIG": str(folder),
            **{name: real.get(value, value) for name, value in variables.items()},
        },
    )
    assert answer.code == 0, answer.err
    plan = answer.err.partition("\npreflight\n")[0]
    (made,) = google.jobs
    assert made.location == place
    assert f"/gcs/{bucket.name}/launch/code/" in made.body.decode()
    (row,) = [line for line in plan.splitlines() if line.startswith("  project ")]
    assert row.endswith(f"({origin})"), answer.err
    (entry,) = tried.ask("list", "--json").json
    assert entry["state"] == "succeeded"


WHERE = {"project": "training-project", "location": LOCATION, "region": LOCATION}


@pytest.mark.parametrize("named", ["number", "display name", "resource name"])
def test_a_job_from_elsewhere_is_found_by_each_of_its_names(google: VertexService, named: str):
    create(google, name="theirs")
    (made,) = google.jobs
    word = {"number": made.id, "display name": "theirs", "resource name": made.resource}[named]
    handle = adopt(word, LOCATION)
    assert str(handle.details["resource"]).rpartition("/")[2] == made.id
    assert handle.details["location"] == LOCATION
    assert VERTEX.service.describe(handle).state == "pending"


def test_a_resource_name_needs_neither_project_nor_location(google: VertexService):
    handle = adopt("projects/p/locations/europe-west4/customJobs/12", None)
    resource = "projects/p/locations/europe-west4/customJobs/12"
    assert handle.name == "12"
    assert handle.details["project"] == "p"
    assert handle.details["location"] == "europe-west4"
    assert handle.details["resource"] == resource
    assert not google.requests


def test_a_display_name_is_matched_whole(google: VertexService):
    for name in ("theirs", "theirs-too", "not-theirs"):
        create(google, name=name)
    (made,) = [one for one in google.jobs if one.name == "theirs"]
    found = adopt("theirs", LOCATION).details["resource"]
    assert str(found).endswith(f"/{made.id}")


@pytest.mark.parametrize("name", ['x" OR state="JOB_STATE_RUNNING', "x\\", 'x"'])
def test_a_name_is_never_read_as_a_filter(google: VertexService, name: str):
    create(google, name="theirs")
    with pytest.raises(LaunchError, match="no such custom job"):
        adopt(name, LOCATION)


def test_a_name_that_several_jobs_have_says_their_numbers(google: VertexService):
    for _ in range(2):
        create(google, name="twice")
    with pytest.raises(LaunchError, match="2 jobs of that display name") as caught:
        adopt("twice", LOCATION)
    assert caught.value.exit_code == EXIT_BAD_REQUEST
    assert all(one.id in str(caught.value) for one in google.jobs)
    assert "vertex:ID" in str(caught.value)


def test_a_job_from_elsewhere_without_a_location_says_what_to_give(google: VertexService):
    with pytest.raises(LaunchError, match="--region REGION"):
        adopt("theirs", None)


def test_a_caller_who_may_not_list_jobs_is_told_so(google: VertexService):
    google.account.deny("aiplatform.customJobs.list")
    with pytest.raises(LaunchError, match=r"aiplatform\.customJobs\.list"):
        adopt("theirs", LOCATION)
