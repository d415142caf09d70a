"""The loopback Google Cloud: what a process needs to reach it, who may, and what it keeps."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import requests
from google.api_core.exceptions import Forbidden, Unauthorized
from google.auth.exceptions import RefreshError

from tests.fakes.google_clients import (
    create,
    credentials,
    job_client,
    job_document,
    parent_of,
    session,
)
from tests.fakes.vertex_service import VertexService

pytestmark = pytest.mark.processes

LOGS = {"resourceNames": ["projects/training-project"], "filter": 'resource.type="ml_job"'}
# Nothing but the variables of the service, and what a user's program would write.
PROGRAM = """
import json, os
import google.auth
from google.auth.transport.requests import AuthorizedSession
from google.cloud import aiplatform_v1, storage
credentials, project = google.auth.default(
    scopes=["https://www.googleapis.com/auth/cloud-platform"])
jobs = aiplatform_v1.JobServiceClient(
    transport="rest", credentials=credentials,
    client_options={"api_endpoint": os.environ["CLOUDSDK_API_ENDPOINT_OVERRIDES_AIPLATFORM"][:-1]})
parent = f"projects/{project}/locations/{os.environ['CLOUDSDK_AI_REGION']}"
job = jobs.create_custom_job(
    parent=parent, custom_job=aiplatform_v1.CustomJob.from_json(os.environ["DOCUMENT"]))
bucket = storage.Client(credentials=credentials).bucket(os.environ["BUCKET"])
bucket.blob("code").upload_from_string(b"bytes")
url = os.environ["CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING"] + "v2/entries:list"
answer = AuthorizedSession(credentials).post(url, json=json.loads(os.environ["LOGS"]))
print(project, job.name, answer.status_code)
"""


def test_another_process_needs_only_the_variables(google: VertexService) -> None:
    more = {
        "DOCUMENT": json.dumps(job_document()),
        "BUCKET": google.bucket,
        "LOGS": json.dumps(LOGS),
    }
    environment = {"PATH": os.environ["PATH"], **google.environment(), **more}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    (job,) = google.jobs
    assert done.stdout.split() == ["training-project", job.resource, "200"]
    stored = google.objects.get(f"gs://{google.bucket}/code")
    assert stored is not None
    assert stored.read() == b"bytes"
    mine = [one for one in google.requests if one.service != "proxy"]
    assert {one.status for one in mine} == {200}
    # google-auth's own search, which has no other way out.
    assert set(google.outside) <= {"iamcredentials.googleapis.com:443"}


# The project is given: the SDK would ask for its id by gRPC, for a minute.
SDK_PROGRAM = """
import os
from google.cloud import aiplatform
aiplatform.init(
    project=os.environ["GOOGLE_CLOUD_PROJECT"], location="us-central1",
    staging_bucket="gs://" + os.environ["BUCKET"],
    api_endpoint=os.environ["CLOUDSDK_API_ENDPOINT_OVERRIDES_AIPLATFORM"][:-1],
    api_transport="rest")
pool = {
    "machine_spec": {
        "machine_type": "n1-standard-16",
        "accelerator_type": "NVIDIA_TESLA_T4",
        "accelerator_count": 4,
    },
    "replica_count": 1,
    "container_spec": {"image_uri": "us-docker.pkg.dev/p/r/horovod:1"},
}
job = aiplatform.CustomJob(display_name="sdk", worker_pool_specs=[pool], labels={"a": "b"})
job.submit()
found = aiplatform.CustomJob.list(filter="labels.a=b")
states = [job.state.name, job.state.name]
job.state
print(len(found), found[0].resource_name == job.resource_name, *states)
job.delete()
"""


def test_the_sdks_own_jobs_are_served(google: VertexService) -> None:
    more = {"BUCKET": google.bucket, "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SDK_PROGRAM],
        env={**google.environment(), **more},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "1 True JOB_STATE_PENDING JOB_STATE_RUNNING" in done.stdout
    assert len(google.jobs) == 0


def test_the_service_starts_and_ends_without_leaving_files_or_a_port() -> None:
    with VertexService() as service:
        folder, url = service.credentials_file.parent, service.url
        assert folder.is_dir()

    assert not folder.exists()
    with pytest.raises(requests.exceptions.ConnectionError):
        requests.get(url, timeout=5)


@pytest.mark.parametrize(
    "header",
    [{}, {"Authorization": "Bearer made-up"}, {"Authorization": "Bearer a.b.c"}],
    ids=["no token", "an unknown token", "no JWT"],
)
@pytest.mark.parametrize(
    "path",
    [
        "/v1/projects/training-project/locations/us-central1/customJobs",
        "/v3/projects/training-project",
        "/storage/v1/b/training-project-vertex-staging-us-central1",
    ],
)
def test_a_request_without_a_good_token_is_unauthenticated(
    google: VertexService, header: dict[str, str], path: str
) -> None:
    answer = requests.get(google.url + path, headers=header, timeout=30)

    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_tokens_may_be_left_out_where_a_test_wants_that(google: VertexService) -> None:
    google.tokens.required = False

    assert requests.get(f"{google.url}/v3/projects/training-project", timeout=30).ok


def test_a_token_that_expired_is_renewed_by_the_clients(google: VertexService) -> None:
    calls, jobs = session(google), job_client(google)
    for _ in range(3):
        google.tokens.expire()
        assert calls.get(f"{google.url}/v3/projects/training-project").ok
        create(google, jobs)

    assert len(google.received("token")) == 3
    assert len(google.jobs) == 3
    assert 401 in {one.status for one in google.requests}


def test_a_token_that_is_refused_is_a_refresh_error(google: VertexService) -> None:
    google.tokens.refusal = ("invalid_grant", "Invalid JWT Signature.")

    with pytest.raises(RefreshError, match="Invalid JWT Signature"):
        session(google).get(f"{google.url}/v3/projects/training-project")


def test_a_service_account_that_is_gone_is_not_let_in(google: VertexService) -> None:
    google.account.service_accounts.clear()

    with pytest.raises(Unauthorized):
        create(google)


def test_a_replica_has_its_token_from_the_metadata_server(
    google: VertexService,
) -> None:
    reference = google.account.add_secret("api-key", "s3cret")
    base = f"{google.url}/computeMetadata/v1/instance/service-accounts/default"
    flavor = {"Metadata-Flavor": "Google"}
    assert requests.get(f"{base}/token", timeout=30).status_code == 403
    assert "compute@" in requests.get(f"{base}/email", headers=flavor, timeout=30).text
    token = requests.get(f"{base}/token", headers=flavor, timeout=30).json()["access_token"]

    answer = requests.get(
        f"{google.url}/v1/{reference}:access",
        headers={"Authorization": f"Bearer {token}"},
        timeout=30,
    )

    assert answer.json()["payload"]["data"] == "czNjcmV0"
    assert google.received("versions.access")[0].access_key.startswith("123456789012-comp")


def test_googles_own_client_takes_the_metadata_server_for_a_real_one(google: VertexService) -> None:
    program = """
import sys, google.auth
from google.auth.transport.requests import AuthorizedSession
credentials, project = google.auth.default()
print(project, AuthorizedSession(credentials).get(sys.argv[1]).status_code)
"""
    url = f"{google.url}/v1/{google.account.add_secret('api-key', 's3cret')}:access"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, url],
        env={"PATH": os.environ["PATH"], **google.replica_environment()},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.stdout.split() == ["training-project", "200"], done.stderr


def test_what_the_caller_may_not_do_is_denied_by_its_name(google: VertexService) -> None:
    google.account.deny("aiplatform.customJobs.create", "logging.logEntries.list")

    with pytest.raises(Forbidden, match=r"Permission 'aiplatform\.customJobs\.create' denied"):
        create(google)
    answer = session(google).post(f"{google.url}/v2/entries:list", json=LOGS)
    assert (answer.status_code, answer.json()["error"]["status"]) == (403, "PERMISSION_DENIED")
    assert len(google.jobs) == 0


@pytest.mark.parametrize("project", ["somebody-elses", "no-such-project"])
def test_a_project_of_others_is_denied_like_one_that_is_not_there(
    google: VertexService, project: str
) -> None:
    with pytest.raises(Forbidden, match=r"denied on resource .* \(or it may not exist\)"):
        list(
            job_client(google).list_custom_jobs(parent=f"projects/{project}/locations/us-central1")
        )


def test_an_api_that_is_off_says_how_it_is_put_on(google: VertexService) -> None:
    google.account.disabled_apis.add("aiplatform.googleapis.com")

    with pytest.raises(Forbidden, match="has not been used in project") as error:
        create(google)
    assert error.value.details[0]["reason"] == "SERVICE_DISABLED"


def test_requests_are_kept_byte_for_byte(google: VertexService) -> None:
    create(google, name="kept")
    call = session(google)
    call.get(f"{google.url}/nothing/here")

    (received,) = google.received("customJobs.create")
    assert json.loads(received.body)["displayName"] == "kept"
    assert received.length == len(received.body)
    assert (received.service, received.region) == ("aiplatform", "us-central1")
    assert received.access_key == google.account.caller.email
    assert received.target.startswith(f"/v1/{parent_of(google)}/customJobs?")
    assert [one.status for one in google.requests if not one.service] == [404]
    google.forget_requests()
    assert google.received("customJobs.create") == []


def test_no_request_carries_the_private_key(google: VertexService) -> None:
    create(google)
    session(google).get(f"{google.url}/v3/projects/training-project")

    key = json.loads(google.credentials_file.read_text())["private_key"]
    middle = key.split("\n")[10]
    sent = [f"{one.target} {one.headers} {one.body!r}" for one in google.requests]
    assert not [one for one in sent if middle in one]
    assert credentials(google).service_account_email == google.account.caller.email
