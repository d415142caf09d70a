"""The CustomJob that `launch vertex` renders, against those that Google's own SDK sent."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.command import Launch
from tests.vertex.documents import captured

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
COMMON = (
    *("--image", "us-docker.pkg.dev/p/r/hvd:1", "--boot-disk", "pd-ssd:200"),
    *("--env", "HOROVOD_LOG_LEVEL=info", "--tag", "launcher=x"),
    *("--project", "my-project", "--location", "us-central1", "--bucket", "gs://bkt"),
)
T4 = ("--machine", "n1-standard-16", "--accelerator", "NVIDIA_TESLA_T4:4")
ASKED = {
    "chief_3workers.json": (
        *("--instances", "4", *T4, "--name", "chief-3workers"),
        *("--output-path", "gs://bkt/out/chief_3workers"),
    ),
    "n1_4xT4.json": (*T4, "--name", "n1-4xT4", "--output-path", "gs://bkt/out/n1_4xT4"),
    "a3_flex_start.json": (
        *("--machine", "a3-highgpu-8g", "--name", "a3-flex-start"),
        *("--output-path", "gs://bkt/out/a3_flex_start"),
        *("--flex-start", "--max-wait", "1h", "--max-runtime", "24h", "--web-access"),
        *("--service-account", "sa@p.iam.gserviceaccount.com"),
        *("--network", "projects/123/global/networks/default"),
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_the_request_is_the_sdks_but_for_what_is_explained(launch: Launch, name: str):
    launch.write("train.py", "import horovod.tensorflow as hvd\n")
    answer = launch("vertex", "train.py", *COMMON, *ASKED[name], "--dry-run")
    assert answer.code == 0, answer.err
    theirs, ours = flat(captured(name)), flat(answer.json)
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
