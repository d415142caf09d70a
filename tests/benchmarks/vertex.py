"""Submitting to Vertex AI on loopback, and following a long log, beside Google's own packages."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.benchmarks.measure import (
    Cost,
    cost_of,
    interleaved,
    print_costs,
    print_followed,
    quiet_environment,
)
from tests.fakes.google_scenarios import VertexScenario
from tests.fakes.job_scenarios import BY_HAND
from tests.fakes.log_lines import Generated
from tests.fakes.vertex_service import LOCATION, VertexService
from tests.places import ROOT

HOSTS, LINES = 20, 10_000
_GPUS = "custom_model_training_nvidia_l4_gpus"
# The SDK's own way for a local script: it packs it, uploads it, sends one job.
_SDK_SUBMIT = """\
import sys
import google.auth
from google.cloud import aiplatform
endpoint, project, bucket, image, seed = sys.argv[1:]
# Given, because google-cloud-storage goes without where STORAGE_EMULATOR_HOST is set.
credentials, _ = google.auth.default(scopes=["https://www.googleapis.com/auth/cloud-platform"])
aiplatform.init(
    credentials=credentials, project=project, location="us-central1", staging_bucket=f"gs://{bucket}",
    api_endpoint=endpoint, api_transport="rest",
)
aiplatform.CustomJob.from_local_script(
    display_name=f"sdk-{seed}", script_path="train.py", container_uri=image,
    args=["--seed", seed], replica_count=2, machine_type="g2-standard-48",
    accelerator_type="NVIDIA_L4", accelerator_count=4, credentials=credentials,
).submit()
"""
_FOLLOW = {
    "launch logs": """\
import sys, time
sys.stdout = open("/dev/null", "w")
from launchers.cli.main import run
start = time.perf_counter()
run(["logs", "vertex:%(job)s", "--region", "us-central1"])
""",
    "entries:list with google-auth, page by page": """\
import os, sys, time
import google.auth
from google.auth.transport.requests import AuthorizedSession
sys.stdout = open("/dev/null", "w")
start = time.perf_counter()
scopes = ["https://www.googleapis.com/auth/cloud-platform"]
credentials, project = google.auth.default(scopes=scopes)
session = AuthorizedSession(credentials)
body = {
    "resourceNames": [f"projects/{os.environ['GOOGLE_CLOUD_PROJECT']}"],
    "filter": 'resource.type="ml_job" AND resource.labels.job_id="%(job)s"',
    "orderBy": "timestamp asc", "pageSize": 1000,
}
url = os.environ["CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING"] + "v2/entries:list"
while True:
    page = session.post(url, json=body).json()
    for entry in page.get("entries", []):
        print(entry.get("jsonPayload", {}).get("message") or entry.get("textPayload"))
    if not page.get("nextPageToken"):
        break
    body["pageToken"] = page["nextPageToken"]
""",
}


def run(runs: int) -> None:
    """Print both tables."""
    with tempfile.TemporaryDirectory() as name, VertexService() as google:
        folder = Path(name) / "project"
        folder.mkdir()
        (folder / "train.py").write_text("import horovod.tensorflow as hvd\nhvd.init()\n")
        home = str(Path(name) / "home")
        environment = quiet_environment(
            **{**google.environment(), "PYTHONPATH": str(ROOT), "LAUNCH_HOME": home}
        )
        google.account.quotas[_GPUS, LOCATION] = 100_000
        google.account.add_image(LOCATION, "ranks", "horovod", "sha256:" + "0" * 64, "1")
        _submission(google, folder, environment, runs)
        _following(google, folder, environment, runs)


def _submission(
    google: VertexService, folder: Path, environment: dict[str, str], runs: int
) -> None:
    google.jobs.scenario = VertexScenario(paces={"RUNNING": BY_HAND})
    script = folder.parent / "submit_by_sdk.py"
    script.write_text(_SDK_SUBMIT)
    number = iter(range(1_000_000))
    project, bucket = google.account.project, google.bucket
    image = f"{LOCATION}-docker.pkg.dev/{project}/ranks/horovod:1"

    def ours() -> list[str]:
        job = ["vertex", "train.py", "--instances", "2", "--gpus", "4", "--image", image]
        command = [sys.executable, "-m", "launchers.cli.main", *job, "--bucket", bucket]
        return [*command, "--detach", "--", "--seed", str(next(number))]

    def sdk() -> list[str]:
        words = [google.url, project, bucket, image, str(next(number))]
        return [sys.executable, str(script), *words]

    def cost(words: Callable[[], list[str]]) -> Cost:
        return cost_of(words(), folder, environment)

    def dry_run() -> list[str]:
        return [word if word != "--detach" else "--dry-run" for word in ours()]

    measures = {
        "launch vertex --dry-run": partial(cost, dry_run),
        "launch vertex --detach, with preflight": partial(cost, ours),
        "aiplatform SDK, from_local_script(...).submit()": partial(cost, sdk),
    }
    print_costs(
        f"The CustomJob of 2 replicas: printed, and sent to a service on loopback, "
        f"median of {runs} runs",
        interleaved(measures, runs),
        {"launch vertex --dry-run": "0.20"},
    )


def _following(google: VertexService, folder: Path, environment: dict[str, str], runs: int) -> None:
    google.jobs.checks_quotas = False
    names = ["workerpool0-0", *(f"workerpool1-{number}" for number in range(HOSTS - 1))]
    google.jobs.scenario = VertexScenario(
        lines={
            name: Generated(LINES, lambda index, name=name: (index, f"{name}: line {index}"))
            for name in names
        }
    )
    job = _create(google)
    google.jobs.run_to("followed", "SUCCEEDED")
    print_followed(
        f"Printing a log of {HOSTS * LINES:,} lines of {HOSTS} replicas, median of {runs} runs",
        {label: program % {"job": job} for label, program in _FOLLOW.items()},
        HOSTS * LINES,
        folder,
        environment,
        runs,
    )


def _create(google: VertexService) -> str:
    """The number of the job whose log is read, made without either of the two."""
    from tests.fakes.google_clients import job_document, parent_of, session

    document = json.dumps(job_document("followed", HOSTS))
    url = f"{google.url}/v1/{parent_of(google)}/customJobs"
    answer = session(google).post(url, data=document)
    answer.raise_for_status()
    return str(answer.json()["name"]).rpartition("/")[2]
