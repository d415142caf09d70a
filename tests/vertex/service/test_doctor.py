"""`launch doctor vertex` against a project on loopback, by the unmodified clients."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from launchers.core.sdk import table
from tests.cli.doctor import Doctor, examined
from tests.fakes.vertex_service import LOCATION, VertexService

IMAGE = f"{LOCATION}-docker.pkg.dev/training-project/ranks/horovod:1"
L4 = "custom_model_training_nvidia_l4_gpus"


@pytest.fixture
def doctor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Doctor:
    return examined(tmp_path, monkeypatch, capsys)


@pytest.fixture
def google(doctor: Doctor) -> Iterator[VertexService]:
    """A project where all is well, which this process's environment leads to."""
    with VertexService() as service:
        doctor.sees(service.environment())
        (doctor.folder / "launch.yaml").write_text(f"image: {IMAGE}\n")
        yield service


def test_a_project_where_all_is_well(doctor: Doctor, google: VertexService):
    told = doctor.json("vertex")
    found = told.of("vertex")
    assert told.code == 0, told.out
    assert {one["state"] for one in found.values()} <= {"ok", "warning"}, found
    assert [name for name, one in found.items() if one["state"] == "warning"] in ([], ["quota"])
    assert list(found) == [
        *("google-cloud-aiplatform", "google-cloud-storage", "location", "image"),
        *("identity", "clock", "project", "service", "bucket", "service account", "quota"),
    ]
    assert found["identity"]["found"].endswith(".iam.gserviceaccount.com")


def elsewhere(google: VertexService) -> None:
    google.objects.add_bucket(google.bucket, "europe-west4")


def no_quota(google: VertexService) -> None:
    for metric in (L4, "custom_model_training_cpus", "custom_model_training_nvidia_a100_gpus"):
        google.account.quotas[metric, LOCATION] = 0


Spoil = Callable[[VertexService], object]
# What is spoilt, which finding says so, by which rule, in which words.
WRONG: dict[str, tuple[Spoil, str, str, str]] = {
    "a key that is no good any more": (
        lambda google: setattr(google.tokens, "refusal", ("invalid_grant", "Invalid JWT", 400)),
        "identity",
        "cloud-credentials",
        "invalid_grant",
    ),
    "the right to create jobs": (
        lambda google: google.account.deny("aiplatform.customJobs.create"),
        "project",
        "preflight-project",
        "may not create custom jobs",
    ),
    "Vertex AI switched off": (
        lambda google: google.account.disabled_apis.add("aiplatform.googleapis.com"),
        "service",
        "preflight-service",
        "is off in the project",
    ),
    "a bucket in another place": (elsewhere, "bucket", "preflight-bucket", "is in europe-west4"),
    "a bucket that is not there": (
        lambda google: google.objects.buckets.clear(),
        "bucket",
        "preflight-bucket",
        "does not exist",
    ),
    "no quota for any default machine": (no_quota, "quota", "preflight-quota", "0 for custom"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_would_stop_a_job_is_an_error_with_what_to_do(
    doctor: Doctor, google: VertexService, name: str
):
    spoil, finding, rule, words = WRONG[name]
    spoil(google)
    told = doctor.json("vertex")
    found = told.of("vertex")
    assert told.code == 4, told.out
    assert (found[finding]["state"], found[finding]["rule"]) == ("error", rule)
    assert words in found[finding]["found"]
    assert found[finding]["needed"]
    assert found[finding]["fix"]


def test_a_bucket_that_is_missing_is_made_by_the_line_to_run(doctor: Doctor, google: VertexService):
    google.objects.buckets.clear()
    line = f"gcloud storage buckets create gs://{google.bucket} --project training-project"
    assert f"  {line} --location {LOCATION}\n" in doctor("vertex").out


def test_a_quota_of_0_for_one_kind_of_machine_stops_nobody(doctor: Doctor, google: VertexService):
    google.account.quotas[L4, LOCATION] = 0
    told = doctor.json("vertex")
    quotas = [one for one in told.answer()["findings"] if one["name"] == "quota"]
    assert told.code == 0
    (short,) = [one for one in quotas if L4 in one["found"]]
    assert short["state"] == "warning"


def test_what_the_caller_may_not_ask_is_unknown(doctor: Doctor, google: VertexService):
    google.account.deny("serviceusage.quotas.get")
    told = doctor.json("vertex")
    assert (told.code, told.of("vertex")["quota"]["state"]) == (0, "unknown")


@pytest.mark.parametrize(("hours", "state"), [(2, "error"), (-2, "error"), (0, "ok")])
def test_a_clock_that_is_wrong_is_told(
    doctor: Doctor,
    google: VertexService,
    monkeypatch: pytest.MonkeyPatch,
    hours: int,
    state: str,
):
    clock = SimpleNamespace(time=lambda: time.time() + 3600 * hours)
    monkeypatch.setattr("launchers.vertex.service.session.time", clock)
    assert doctor.json("vertex").of("vertex")["clock"]["state"] == state


def test_without_a_network_it_says_so_once_and_what_settings_say(
    doctor: Doctor, google: VertexService
):
    key = doctor.home / "key.json"
    key.write_bytes(google.credentials_file.read_bytes())
    doctor.sees({"GOOGLE_APPLICATION_CREDENTIALS": str(key)})
    google.close()
    told = doctor.json("vertex")
    found = told.of("vertex")
    assert told.code == 4
    assert [name for name, one in found.items() if one["state"] == "error"] == ["network"]
    assert found["network"]["rule"] == "cloud-unreachable"
    assert found["project"]["found"].startswith("training-project (GOOGLE_CLOUD_PROJECT)")


def test_offline_asks_nobody(doctor: Doctor, google: VertexService):
    told = doctor.json("vertex", "--offline")
    assert told.code == 0, told.out
    assert not google.requests


def test_a_key_file_that_is_not_there_is_told(doctor: Doctor, google: VertexService):
    doctor.sees({"GOOGLE_APPLICATION_CREDENTIALS": "/nowhere/key.json"})
    for words in ((), ("--offline",)):
        told = doctor.json("vertex", *words)
        identity = told.of("vertex")["identity"]
        assert (told.code, identity["rule"]) == (4, "cloud-credentials")
        assert "names /nowhere/key.json, which is not there" in identity["fix"]


def test_a_misspelt_location_is_told_with_the_near_one(doctor: Doctor, google: VertexService):
    told = doctor.json("vertex", "--location", "us-centrall1", "--offline")
    location = told.of("vertex")["location"]
    assert (location["state"], location["rule"]) == ("warning", "location")
    assert "us-central1" in location["fix"]


def test_without_an_image_it_is_said_how_to_make_one(doctor: Doctor, google: VertexService):
    (doctor.folder / "launch.yaml").unlink()
    image = doctor.json("vertex", "--offline").of("vertex")["image"]
    assert (image["state"], image["rule"]) == ("warning", "image-missing")
    assert "launch image build --push" in image["fix"]


def test_every_row_of_the_gates_table_is_held_against_what_is_installed(
    monkeypatch: pytest.MonkeyPatch,
):
    versions = {"google-cloud-aiplatform": "1.70.0", "google-cloud-storage": "2.0"}
    monkeypatch.setattr(table, "installed_version", lambda name: versions.get(name, ""))
    found = {one.name: one for one in table.sdk_findings("vertex.request")}
    assert "NVIDIA_B200 (>=1.93)" in found["google-cloud-aiplatform"].found
    assert found["google-cloud-aiplatform"].state == "warning"
    versions["google-cloud-aiplatform"] = "2.0.0"
    found = {one.name: one for one in table.sdk_findings("vertex.request")}
    assert (found["google-cloud-aiplatform"].state) == "error"
