"""Project, location and bucket from flags, the environment and gcloud's own configuration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from launchers.vertex.planning.account import Account, account_of, default_bucket
from tests.vertex.documents import job

CONFIGURATION = """\
[core]
account = me@example.com
project = from-config

[ai]
region = europe-west4

[compute]
region = asia-east1
zone = asia-east1-a
"""


@pytest.fixture
def gcloud(no_account: Path) -> Path:
    """A gcloud folder with the configurations `default` and `work`."""
    folder = no_account / "no-gcloud-config"
    (folder / "configurations").mkdir(parents=True)
    (folder / "configurations" / "config_default").write_text(CONFIGURATION)
    work = CONFIGURATION.replace("from-config", "from-work")
    (folder / "configurations" / "config_work").write_text(work)
    return folder


def account(**asked: Any) -> Account:
    return account_of(job(**asked))


def test_nothing_said_is_placeholders_and_an_assumed_location():
    found = account()
    assert found.project_is_placeholder
    assert found.bucket_is_placeholder
    assert found.location_is_assumed
    assert (found.project, found.location) == ("placeholder-project", "us-central1")


def test_flags_go_before_all_else(gcloud: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "from-environment")
    monkeypatch.setenv("CLOUDSDK_AI_REGION", "us-east4")
    monkeypatch.setenv("LAUNCH_VERTEX_BUCKET", "gs://from-environment")
    found = account(project="my-project", region="us-west1", bucket="gs://mine/")
    assert (found.project, found.project_origin) == ("my-project", "--project")
    assert (found.location, found.location_origin) == ("us-west1", "--location")
    assert (found.bucket, found.bucket_origin) == ("mine", "--bucket")


# Each variable beats those below it, and all beat gcloud's file.
PROJECTS = ["GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT"]
LOCATIONS = ["CLOUDSDK_AI_REGION", "GOOGLE_CLOUD_REGION", "GOOGLE_CLOUD_LOCATION"]


@pytest.mark.parametrize("first", range(len(PROJECTS)))
def test_a_project_comes_from_the_first_variable(
    gcloud: Path, monkeypatch: pytest.MonkeyPatch, first: int
):
    for name in PROJECTS[first:]:
        monkeypatch.setenv(name, name.lower().replace("_", "-"))
    found = account()
    name = PROJECTS[first]
    assert (found.project, found.project_origin) == (name.lower().replace("_", "-"), name)


@pytest.mark.parametrize("first", range(len(LOCATIONS)))
def test_a_location_comes_from_the_first_variable(
    gcloud: Path, monkeypatch: pytest.MonkeyPatch, first: int
):
    for number, name in enumerate(LOCATIONS[first:], first):
        monkeypatch.setenv(name, f"us-east{number}")
    found = account()
    assert (found.location, found.location_origin) == (f"us-east{first}", LOCATIONS[first])


def test_the_place_of_machines_by_a_variable_is_behind_that_of_vertex_ai(
    gcloud: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CLOUDSDK_COMPUTE_REGION", "us-west1")
    assert account().location == "europe-west4"
    (gcloud / "configurations" / "config_default").write_text("[compute]\nregion = us-east1\n")
    found = account()
    assert (found.location, found.location_origin) == ("us-west1", "CLOUDSDK_COMPUTE_REGION")


def test_global_is_where_models_answer_and_no_location_of_a_job(
    gcloud: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "global")
    assert account().location == "europe-west4"


def test_gclouds_default_configuration_is_read(gcloud: Path):
    found = account()
    assert (found.project, found.location) == ("from-config", "europe-west4")
    assert found.project_origin == found.location_origin == "gcloud's configuration"
    assert found.bucket_is_placeholder


def test_the_location_of_vertex_ai_goes_before_that_of_machines(gcloud: Path):
    file = gcloud / "configurations" / "config_default"
    file.write_text(CONFIGURATION.replace("[ai]", "[other]"))
    assert account().location == "asia-east1"


@pytest.mark.parametrize("how", ["file", "variable"])
def test_the_active_configuration_is_the_one_that_counts(
    gcloud: Path, monkeypatch: pytest.MonkeyPatch, how: str
):
    if how == "file":
        (gcloud / "active_config").write_text("work\n")
    else:
        (gcloud / "active_config").write_text("default")
        monkeypatch.setenv("CLOUDSDK_ACTIVE_CONFIG_NAME", "work")
    assert account().project == "from-work"


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"no section\nproject = x\n", b"[core]\n"])
def test_a_broken_configuration_counts_as_none(gcloud: Path, content: bytes):
    (gcloud / "configurations" / "config_default").write_bytes(content)
    assert account().project_is_placeholder


def test_an_active_configuration_that_is_gone_counts_as_none(gcloud: Path):
    (gcloud / "active_config").write_text("gone")
    assert account().project_is_placeholder


def test_what_a_file_gave_is_said_with_that_file():
    origins = {"project": "gcloud", "region": "there", "bucket": "the project's own"}
    asked = job(project="my-project", region="us-west1", bucket="b-b-b")
    found = account_of(replace(asked, origins=origins))
    told = (found.project_origin, found.location_origin, found.bucket_origin)
    assert told == ("gcloud", "there", "the project's own")


def test_the_default_bucket_has_the_name_that_the_sdk_gave_it():
    assert default_bucket("my-project", "us-west1") == "my-project-vertex-staging-us-west1"
    assert ":" not in default_bucket("example.com:my-project", "us-west1")
