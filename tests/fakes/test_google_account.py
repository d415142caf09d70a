"""What a preflight asks of the fake Google Cloud, and the secrets that a replica reads."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import pytest

from tests.fakes.google_clients import session
from tests.fakes.vertex_service import VertexService

PROJECT = "/v1/projects/training-project"
QUOTAS = "/v1beta1/projects/training-project/services/aiplatform.googleapis.com"
L4 = "custom_model_training_nvidia_l4_gpus"
DIGEST = "sha256:" + "a" * 64


class Account:
    """Requests by the account's caller."""

    def __init__(self, google: VertexService):
        self.google, self._session = google, session(google)

    def get(self, path: str) -> Any:
        return self._session.get(self.google.url + path)

    def post(self, path: str, **body: Any) -> Any:
        return self._session.post(self.google.url + path, json=body)


@pytest.fixture
def account(google: VertexService) -> Account:
    return Account(google)


def limits(metric: Mapping[str, Any]) -> dict[str, int]:
    """Location, or an empty string for all others -> limit."""
    (limit,) = metric["consumerQuotaLimits"]
    return {
        one.get("dimensions", {}).get("region", ""): int(one.get("effectiveLimit", 0))
        for one in limit["quotaBuckets"]
    }


def test_a_project_says_its_id_and_number(account: Account) -> None:
    told = account.get("/v3/projects/training-project").json()

    assert (told["name"], told["projectId"]) == ("projects/123456789012", "training-project")
    assert told["state"] == "ACTIVE"
    assert account.get("/v3/projects/123456789012").json() == told
    assert account.get(PROJECT).json()["projectNumber"] == "123456789012"


@pytest.mark.parametrize("path", ["/v3/projects/training-project", PROJECT])
def test_a_project_says_what_the_caller_may(account: Account, path: str) -> None:
    asked = ["aiplatform.customJobs.create", "logging.logEntries.list"]
    assert account.post(f"{path}:testIamPermissions", permissions=asked).json() == {
        "permissions": asked
    }
    account.google.account.deny(asked[0])
    told = account.post(f"{path}:testIamPermissions", permissions=asked).json()

    assert told == {"permissions": asked[1:]}


def test_quotas_are_told_for_each_location(account: Account) -> None:
    account.google.account.quotas[L4, "us-central1"] = 8
    account.google.account.quotas[L4, "europe-west4"] = 0
    metrics = account.get(f"{QUOTAS}/consumerQuotaMetrics").json()["metrics"]
    by_name = {one["metric"]: one for one in metrics}

    assert limits(by_name[f"aiplatform.googleapis.com/{L4}"]) == {
        "": 100_000,
        "us-central1": 8,
        "europe-west4": 0,
    }
    one = account.get(f"{QUOTAS}/consumerQuotaMetrics/aiplatform.googleapis.com%2F{L4}").json()
    assert one == by_name[f"aiplatform.googleapis.com/{L4}"]
    missing = account.get(f"{QUOTAS}/consumerQuotaMetrics/aiplatform.googleapis.com%2Fx")
    assert missing.status_code == 404


def test_quotas_come_in_pages(account: Account) -> None:
    names, token = [], ""
    while True:
        page = account.get(f"{QUOTAS}/consumerQuotaMetrics?pageSize=2&pageToken={token}").json()
        names += [one["metric"] for one in page["metrics"]]
        if not (token := page.get("nextPageToken", "")):
            break

    assert f"aiplatform.googleapis.com/{L4}" in names
    assert len(names) == len(set(names)) > 2


def test_a_service_says_whether_it_is_on(account: Account) -> None:
    path = f"{PROJECT}/services/aiplatform.googleapis.com"
    assert account.get(path).json()["state"] == "ENABLED"
    account.google.account.disabled_apis.add("aiplatform.googleapis.com")

    assert account.get(path).json()["state"] == "DISABLED"


def test_an_image_is_found_by_its_digest_and_its_tag(account: Account) -> None:
    repository = f"{PROJECT}/locations/us/repositories/training"
    account.google.account.add_image("us", "training", "launch/horovod", DIGEST, "0.1.0", "dev")
    name = quote("launch/horovod", safe="")

    for path in (quote(f"launch/horovod@{DIGEST}", safe=""), f"launch/horovod@{DIGEST}"):
        told = account.get(f"{repository}/dockerImages/{path}").json()
        assert told["uri"] == f"us-docker.pkg.dev/training-project/training/launch/horovod@{DIGEST}"
        assert told["tags"] == ["0.1.0", "dev"]
    assert account.get(f"{repository}/dockerImages").json()["dockerImages"] == [told]
    tag = account.get(f"{repository}/packages/{name}/tags/0.1.0").json()
    assert tag["version"].endswith(f"/versions/{DIGEST}")


@pytest.mark.parametrize(
    "path",
    [
        f"dockerImages/launch@{DIGEST}",
        "dockerImages",
        "packages/launch/tags/none",
    ],
)
def test_an_image_that_is_not_there_is_not_found(account: Account, path: str) -> None:
    answer = account.get(f"{PROJECT}/locations/us/repositories/training/{path}")

    assert (answer.status_code, answer.json()["error"]["status"]) == (404, "NOT_FOUND")


def test_a_service_account_says_whether_the_caller_may_act_as_it(account: Account) -> None:
    email = account.google.account.add_service_account("trainer").email
    path, act = f"{PROJECT}/serviceAccounts/{email}", "iam.serviceAccounts.actAs"

    assert account.get(path).json()["email"] == email
    assert account.get(f"/v1/projects/-/serviceAccounts/{email}").json()["email"] == email
    asked = account.post(f"{path}:testIamPermissions", permissions=[act]).json()
    assert asked == {"permissions": [act]}
    account.google.account.deny(act)
    assert account.post(f"{path}:testIamPermissions", permissions=[act]).json() == {}
    nobody = account.get(path.replace("trainer", "nobody"))
    assert (nobody.status_code, nobody.json()["error"]["status"]) == (404, "NOT_FOUND")


def test_a_secret_has_its_versions(account: Account) -> None:
    secrets = account.google.account
    first, second = secrets.add_secret("api-key", "old"), secrets.add_secret("api-key", b"new")
    latest = f"{PROJECT}/secrets/api-key/versions/latest"

    def value(path: str) -> bytes:
        return base64.b64decode(account.get(f"{path}:access").json()["payload"]["data"])

    assert value(f"/v1/{first}") == b"old"
    assert value(f"/v1/{second}") == value(latest) == b"new"
    assert account.get(f"{latest}:access").json()["name"].endswith("/versions/2")
    secrets.secrets["api-key"][0] = None
    gone = account.get(f"/v1/{first}:access")
    assert (gone.status_code, gone.json()["error"]["status"]) == (400, "FAILED_PRECONDITION")


@pytest.mark.parametrize("path", ["secrets/none/versions/1", "secrets/api-key/versions/7"])
def test_a_secret_that_is_not_there_is_not_found(account: Account, path: str) -> None:
    account.google.account.add_secret("api-key", "x")

    assert account.get(f"{PROJECT}/{path}:access").status_code == 404


@pytest.mark.parametrize(
    ("permission", "path"),
    [
        ("resourcemanager.projects.get", "/v3/projects/training-project"),
        ("serviceusage.quotas.get", f"{QUOTAS}/consumerQuotaMetrics"),
        ("serviceusage.services.get", f"{PROJECT}/services/aiplatform.googleapis.com"),
        (
            "artifactregistry.dockerimages.get",
            f"{PROJECT}/locations/us/repositories/training/dockerImages/x@{DIGEST}",
        ),
        (
            "artifactregistry.tags.get",
            f"{PROJECT}/locations/us/repositories/training/packages/x/tags/y",
        ),
        ("iam.serviceAccounts.get", f"{PROJECT}/serviceAccounts/x@y.z"),
        ("secretmanager.versions.access", f"{PROJECT}/secrets/x/versions/1:access"),
        ("storage.buckets.get", "/storage/v1/b/training-project-vertex-staging-us-central1"),
    ],
)
def test_each_answers_403_to_a_caller_who_may_not_ask(
    account: Account, permission: str, path: str
) -> None:
    account.google.account.deny(permission)
    answer = account.get(path)

    assert answer.status_code == 403
    assert f"Permission '{permission}' denied" in answer.json()["error"]["message"]
