"""The CustomJob that `launch vertex` renders, against those that Google's own SDK sent."""

from __future__ import annotations

from typing import Any

import pytest

from tests.vertex.documents import captured, rendered

# What ours has, lacks or says otherwise, each with its reason.
EXPLAINED = {
    "displayName": "ours carries digest and run number, so that a second send is the same job",
    "containerSpec.command": "our bootstrap starts the agent; horovodrun has no ssh to go by there",
    "containerSpec.args": "the bundle, its hash, and the script with its exact arguments",
    "containerSpec.env.LAUNCH_": "the world size and what agent and guard need",
    "labels.launch-": "digest and run find the job again, since no name is unique there",
    "jobSpec.scheduling.timeout": "always sent: the service's own is 7 days of paid machines",
}
# What one of them has that the others lack.
OF_ONE = {
    "chief_3workers.json": {
        "jobSpec.scheduling.restartJobOnWorkerRestart": "the ranks of several hosts start anew "
        "together; the SDK's default leaves the others hanging"
    },
    "a3_flex_start.json": {
        "jobSpec.scheduling.restartJobOnWorkerRestart": "one replica restarts in place, "
        "which is the whole job; set there by hand"
    },
    "n1_4xT4.json": {},
}
COMMON: dict[str, Any] = {
    "image": "us-docker.pkg.dev/p/r/hvd:1",
    "boot_disk": "pd-ssd:200",
    "environment": {"HOROVOD_LOG_LEVEL": "info"},
    "tags": {"launcher": "x"},
    "project": "my-project",
    "region": "us-central1",
    "bucket": "bkt",
}
T4 = {**COMMON, "machine": "n1-standard-16", "accelerator": "NVIDIA_TESLA_T4:4", "gpus": None}
ASKED = {
    "chief_3workers.json": {
        **T4,
        "instances": 4,
        "name": "chief-3workers",
        "output_path": "gs://bkt/out/chief_3workers",
    },
    "n1_4xT4.json": {
        **T4,
        "instances": 1,
        "name": "n1-4xT4",
        "output_path": "gs://bkt/out/n1_4xT4",
    },
    "a3_flex_start.json": {
        **COMMON,
        "instances": 1,
        "gpus": None,
        "machine": "a3-highgpu-8g",
        "name": "a3-flex-start",
        "output_path": "gs://bkt/out/a3_flex_start",
        "flex_start": True,
        "max_wait": 3600,
        "max_runtime": 86400,
        "service_account": "sa@p.iam.gserviceaccount.com",
        "network": "projects/123/global/networks/default",
        "web_access": True,
    },
}


@pytest.mark.parametrize("name", ASKED)
def test_the_request_is_the_sdks_but_for_what_is_explained(name: str):
    theirs, ours = flat(captured(name)), flat(rendered(**ASKED[name]))
    different = {
        key for key in theirs.keys() | ours.keys() if theirs.get(key, "-") != ours.get(key, "-")
    }
    reasons = {**EXPLAINED, **OF_ONE[name]}
    assert {key for key in different if not any(reason in key for reason in reasons)} == set()
    idle = {reason for reason in reasons if not any(reason in key for key in different)}
    # The one that says a timeout says ours.
    assert idle <= {"jobSpec.scheduling.timeout"}


def flat(document: Any, path: str = "") -> dict[str, Any]:
    """Leaves by their path; variables by their name, command and args as they are."""
    if path.endswith(".env"):
        document = {item["name"]: item["value"] for item in document}
    elif isinstance(document, list) and not path.endswith(("command", "args")):
        document = dict(enumerate(document))
    if not isinstance(document, dict) or not document:
        return {path: document}
    leaves: dict[str, Any] = {}
    for key, value in document.items():
        leaves |= flat(value, f"{path}.{key}" if path else str(key))
    return leaves
