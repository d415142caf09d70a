"""What would stop a CustomJob is said before anything is sent, in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from launchers.core.model.problems import Problem
from launchers.vertex.service.preflight import preflight
from tests.cli.command import Launch
from tests.fakes.faults import Refuse
from tests.fakes.google_wire import UNAVAILABLE
from tests.fakes.vertex_service import LOCATION, VertexService
from tests.vertex.documents import prepared
from tests.vertex.service.submitting import GPUS, Bench, bench, session_of

pytestmark = pytest.mark.processes

DIGEST = "sha256:" + "0" * 64
REGISTRY = f"{LOCATION}-docker.pkg.dev"
RUNNER = "runner@training-project.iam.gserviceaccount.com"
EVERY_CHECK = ["identity", "project", "service", "bucket", "service account", "quota", "image"]


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[VertexService]:
    """The service, which this process's own preflight asks."""
    with VertexService() as service:
        service.account.add_image(LOCATION, "ranks", "horovod", DIGEST, "1")
        service.account.add_image(LOCATION, "ranks", "deep/er", DIGEST, "1")
        service.account.add_service_account("runner")
        session_of(service, monkeypatch)
        yield service


def answers(google: VertexService, **asked: Any) -> list[Problem]:
    """All answers about a job of 2 hosts with 4 L4."""
    image = f"{REGISTRY}/{google.account.project}/ranks/horovod:1"
    given = {"image": image, "bucket": google.bucket, **asked}
    return preflight(prepared(**given).definition)


def answer_of(google: VertexService, name: str, **asked: Any) -> tuple[str, str]:
    """The severity and the text of the one answer of a check."""
    (one,) = [one for one in answers(google, **asked) if one.path == name]
    return one.severity, str(one)


def test_a_project_where_all_is_well_has_an_ok_for_every_check(google: VertexService):
    told = answers(google, service_account=RUNNER)
    assert [one.path for one in told] == EVERY_CHECK
    assert {
        "preflight-identity",
        "preflight-image",
        "preflight-project",
        "preflight-service",
        "preflight-service-account",
    } <= {one.rule for one in told}
    assert {one.severity for one in told} == {"ok"}


def own_bucket(google: VertexService) -> str:
    return google.objects.add_bucket("mine").name


def elsewhere(google: VertexService) -> None:
    google.objects.add_bucket(google.bucket, "europe-west4")


def squatted(google: VertexService) -> None:
    google.objects.add_bucket(google.bucket, LOCATION, "somebody-elses")
    google.objects.public.add(google.bucket)


Spoil = Callable[[VertexService], object]
# What is spoilt, what is asked for, which check says so, in which words.
WRONG: dict[str, tuple[Spoil, dict[str, Any], str, str]] = {
    "the right to create jobs": (
        lambda google: google.account.deny("aiplatform.customJobs.create"),
        {},
        "project",
        "roles/aiplatform.user",
    ),
    "the right to list jobs, without which none is sent": (
        lambda google: google.account.deny("aiplatform.customJobs.list"),
        {},
        "project",
        "aiplatform.customJobs.list",
    ),
    "Vertex AI switched off": (
        lambda google: google.account.disabled_apis.add("aiplatform.googleapis.com"),
        {},
        "service",
        "gcloud services enable aiplatform.googleapis.com --project training-project",
    ),
    "a bucket that is not there": (
        lambda google: google.objects.buckets.clear(),
        {},
        "bucket",
        "gcloud storage buckets create gs://training-project-vertex-staging-us-central1",
    ),
    "a bucket in another place": (elsewhere, {}, "bucket", "is in europe-west4"),
    "a bucket of the default name that another project made": (
        squatted,
        {},
        "bucket",
        "belongs to another project",
    ),
    "a bucket that cannot be written": (
        lambda google: google.account.deny("storage.objects.create"),
        {},
        "bucket",
        "roles/storage.objectUser",
    ),
    "a service account that is not there": (
        lambda google: google.account.service_accounts.pop(RUNNER),
        {"service_account": RUNNER},
        "service account",
        "does not exist",
    ),
    "a disabled service account": (
        lambda google: setattr(google.account.service_accounts[RUNNER], "disabled", True),
        {"service_account": RUNNER},
        "service account",
        f"gcloud iam service-accounts enable {RUNNER}",
    ),
    "a service account that the caller may not act as": (
        lambda google: google.account.deny("iam.serviceAccounts.actAs"),
        {"service_account": RUNNER},
        "service account",
        "roles/iam.serviceAccountUser",
    ),
    "an image that is not there": (
        lambda google: google.account.images.clear(),
        {},
        "image",
        "launch image build [--with STRATEGY] --push",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_would_stop_the_job_is_an_error_with_what_to_do(google: VertexService, name: str):
    spoil, asked, check, words = WRONG[name]
    spoil(google)
    severity, text = answer_of(google, check, **asked)
    assert severity == "error"
    assert words in text
    others = [one for one in answers(google, **asked) if one.path != check]
    assert not [str(one) for one in others if one.severity == "error"]


# What the caller may not ask -> the checks that are unknown then.
DENIED = {
    "serviceusage.services.get": "service",
    "serviceusage.quotas.get": "quota",
    "storage.buckets.get": "bucket",
    "iam.serviceAccounts.get": "service account",
    "artifactregistry.tags.get": "image",
}


@pytest.mark.parametrize("permission", DENIED)
def test_what_the_caller_may_not_ask_is_unknown_and_no_error(
    google: VertexService, permission: str
):
    google.account.deny(permission)
    told = answers(google, service_account=RUNNER)
    assert [one.path for one in told] == EVERY_CHECK
    not_well = {one.path: one.severity for one in told if one.severity != "ok"}
    assert not_well == {DENIED[permission]: "unknown"}


def test_services_that_are_down_are_unknown_and_all_of_them_are_told(google: VertexService):
    for name in ("cloudresourcemanager", "serviceusage", "storage", "iam", "artifactregistry"):
        google.faults.add(Refuse(UNAVAILABLE), name)
    told = answers(google, service_account=RUNNER)
    assert [one.path for one in told] == EVERY_CHECK
    assert [one.severity for one in told] == ["ok", *["unknown"] * 6]


def test_one_answer_that_is_lost_is_asked_for_again(google: VertexService):
    for name in ("cloudresourcemanager", "serviceusage", "storage", "artifactregistry"):
        google.faults.add(Refuse(UNAVAILABLE), name, times=1)
    assert {one.severity for one in answers(google)} == {"ok"}


def test_bad_credentials_are_one_problem_and_not_one_a_check(google: VertexService):
    google.tokens.refusal = ("invalid_grant", "Invalid JWT Signature.")
    google.tokens.expire()
    (one,) = answers(google)
    assert (one.path, one.severity) == ("identity", "error")
    assert "Invalid JWT Signature" in one.found
    assert "GOOGLE_APPLICATION_CREDENTIALS" in one.fix


@pytest.mark.parametrize("permission", ["logging.logEntries.list", "aiplatform.customJobs.get"])
def test_a_job_that_cannot_be_followed_is_a_warning(google: VertexService, permission: str):
    google.account.deny(permission)
    severity, text = answer_of(google, "project")
    assert severity == "warning"
    assert permission in text


WIDE = [("us", "us-central1"), ("nam4", "us-central1"), ("eu", "europe-west4")]


@pytest.mark.parametrize(
    ("place", "location", "severity"),
    [
        *[(place, location, "ok") for place, location in WIDE],
        ("us-central1", "us-central1", "ok"),
        ("asia1", "asia-northeast1", "ok"),
        ("eu", "us-central1", "error"),
        ("us-east1", "us-central1", "error"),
    ],
)
def test_a_multi_region_serves_the_regions_in_it(
    google: VertexService, place: str, location: str, severity: str
):
    bucket = google.objects.add_bucket("wide", place).name
    assert answer_of(google, "bucket", bucket=bucket, region=location)[0] == severity


def test_a_bucket_that_was_named_may_be_of_another_project(google: VertexService):
    google.objects.add_bucket("shared", LOCATION, "somebody-elses")
    google.objects.public.add("shared")
    assert answer_of(google, "bucket", bucket="shared")[0] == "ok"


@pytest.mark.parametrize("project", ["training-project", "p"])
@pytest.mark.parametrize(
    ("image", "severity"),
    [
        ("ranks/horovod:1", "ok"),
        (f"ranks/horovod@{DIGEST}", "ok"),
        (f"ranks/horovod:1@{DIGEST}", "ok"),
        ("ranks/deep/er:1", "ok"),
        (f"ranks/deep/er@{DIGEST}", "ok"),
        ("ranks/horovod:2", "error"),
        (f"ranks/horovod@sha256:{'1' * 64}", "error"),
        ("other/horovod:1", "error"),
    ],
)
def test_an_image_is_looked_up_by_tag_and_by_digest(
    google: VertexService, image: str, severity: str, project: str
):
    # Another project's registry does not say what it has.
    expected = severity if project == google.account.project else "unknown"
    assert answer_of(google, "image", image=f"{REGISTRY}/{project}/{image}")[0] == expected


@pytest.mark.parametrize(
    "image", ["us-docker.pkg.dev/vertex-ai/training/tf-gpu.2-17.py310:latest", "me/ranks:1"]
)
def test_an_image_that_cannot_be_looked_up_is_unknown_and_not_asked_for(
    google: VertexService, image: str
):
    assert answer_of(google, "image", image=image)[0] == "unknown"
    assert not google.received("tags.get")


def test_the_project_of_a_domain_is_asked_by_its_own_name(google: VertexService):
    answers(google, image=f"{REGISTRY}/example.com/team/ranks/horovod:1")
    asked = [one.target for one in google.requests if "packages" in one.target]
    place = f"/v1/projects/example.com:team/locations/{LOCATION}/repositories/ranks"
    assert asked == [f"{place}/packages/horovod/tags/1"]


PLAIN = "custom_model_training_cpus"
N1_T4 = {"machine": "n1-standard-16", "accelerator": "NVIDIA_TESLA_T4:4", "gpus": None}
# The job -> what of each quota it needs.
NEEDS: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "GPUs of the machine": ({}, {GPUS: 8}),
    "one replica": ({"instances": 1}, {GPUS: 4}),
    "spot": ({"spot": True}, {"custom_model_training_preemptible_nvidia_l4_gpus": 8}),
    "flex-start": (
        {"flex_start": True, "max_runtime": 3 * 3600},
        {"custom_model_training_preemptible_nvidia_l4_gpus": 8},
    ),
    "GPUs beside n1": (N1_T4, {"custom_model_training_nvidia_t4_gpus": 8, PLAIN: 32}),
    "spot GPUs beside n1": (
        {**N1_T4, "spot": True},
        {
            "custom_model_training_preemptible_nvidia_t4_gpus": 8,
            "custom_model_training_preemptible_cpus": 32,
        },
    ),
    "CPUs of n1": ({"gpus": 0, "machine": "n1-standard-8"}, {PLAIN: 16}),
    "CPUs of n2": (
        {"gpus": 0, "machine": "n2-standard-8"},
        {"custom_model_training_n2_cpus": 16},
    ),
    "reduction servers": ({"reduction_servers": 3}, {GPUS: 8, PLAIN: 48}),
    "a persistent resource": ({"persistent_resource": "ours"}, {}),
}


@pytest.mark.parametrize("name", NEEDS)
def test_every_quota_that_the_job_counts_in_is_asked_for_by_name(google: VertexService, name: str):
    asked, needs = NEEDS[name]

    def quotas() -> list[Problem]:
        return [one for one in answers(google, **asked) if one.path == "quota"]

    for metric, count in needs.items():
        google.account.quotas[metric, LOCATION] = count
    assert {one.severity for one in quotas()} == {"ok"}
    for metric, count in needs.items():
        google.account.quotas[metric, LOCATION] = count - 1
        (short,) = [one for one in quotas() if one.severity == "error"]
        assert short.found == f"{count - 1} for {metric} in {LOCATION}"
        assert short.expected == f"at least {count}"
        google.account.quotas[metric, LOCATION] = count
    assert len(quotas()) == max(len(needs), 1)


@pytest.mark.parametrize(("limit", "severity"), [(-1, "ok"), (0, "error")])
def test_a_quota_without_a_limit_and_one_of_nothing(
    google: VertexService, limit: int, severity: str
):
    google.account.quotas[GPUS, LOCATION] = limit
    assert answer_of(google, "quota")[0] == severity


def test_another_locations_quota_is_not_this_ones(google: VertexService):
    google.account.quotas[GPUS, "europe-west4"] = 0
    assert answer_of(google, "quota")[0] == "ok"


def test_the_image_of_reduction_servers_is_told_too(google: VertexService):
    told = [one for one in answers(google, reduction_servers=2) if one.path == "image"]
    assert [one.severity for one in told] == ["ok", "unknown"]
    assert "reductionserver" in told[1].found


SECRET = "projects/training-project/secrets/wandb/versions/{}"


@pytest.mark.parametrize(
    ("version", "severity", "words"),
    [
        ("2", "ok", "roles/secretmanager.secretAccessor"),
        ("latest", "ok", "wandb/versions/latest"),
        ("1", "error", "is destroyed"),
        ("3", "error", "does not exist"),
    ],
)
def test_a_secret_is_looked_up_and_never_read(
    google: VertexService, version: str, severity: str, words: str
):
    google.account.secrets["wandb"] = [None, b"the-value"]
    secrets = {"KEY": SECRET.format(version), "SAME": SECRET.format(version)}
    found, text = answer_of(google, "secret", secrets=secrets)
    assert found == severity
    assert words in text
    assert "[preflight-secret]" in text
    assert not google.received("versions.access")


def test_a_secret_that_the_caller_may_not_look_up_is_unknown(google: VertexService):
    google.account.add_secret("wandb", "the-value")
    google.account.deny("secretmanager.versions.get")
    assert answer_of(google, "secret", secrets={"KEY": SECRET.format(1)})[0] == "unknown"


def test_a_refusal_sends_nothing_and_ends_with_4(tried: Bench):
    tried.google.account.quotas[GPUS, LOCATION] = 7
    tried.google.account.images.clear()
    answer = tried.submit()
    assert answer.code == 4, answer.err
    table = answer.err.partition("preflight\n")[2].splitlines()
    assert [line.split()[0] for line in table[:4]] == ["identity", "project", "service", "bucket"]
    assert "7 for" in answer.err
    assert answer.err.partition("preflight\n")[2].count("refused") == 2
    assert not tried.google.received("customJobs.create")
    assert not tried.google.received("objects.insert")
    assert tried.ask("list", "--json").json == []


def test_an_unknown_stops_nothing(tried: Bench):
    tried.google.account.deny(*DENIED)
    answer = tried.submit()
    assert answer.code == 0, answer.err
    assert answer.err.partition("preflight\n")[2].count("unknown") == 4


@pytest.mark.parametrize("credentials", ["refused", "none"])
def test_a_caller_without_good_credentials_is_told_how_to_get_some(tried: Bench, credentials: str):
    tried.google.tokens.refusal = ("invalid_grant", "Invalid JWT Signature.")
    tried.google.tokens.expire()
    nowhere = {"GOOGLE_APPLICATION_CREDENTIALS": ""} if credentials == "none" else {}
    answer = tried.submit(**nowhere)
    assert answer.code == 4, answer.err
    assert "valid credentials" in answer.err
    assert "gcloud auth application-default login" in answer.err
    assert not tried.google.received("customJobs.create")
