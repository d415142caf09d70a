"""Which google-cloud-aiplatform a job of Vertex AI needs, by what it asks for."""

from __future__ import annotations

from typing import Any

import pytest

from launchers.core.sdk import gate as sdk_gate
from tests.cli.command import Launch
from tests.sagemaker import released
from tests.vertex.documents import IMAGE, RESOLVED, planned

CLIENT = "google-cloud-aiplatform"
ALWAYS = {"rest", "worker_pool_specs"}
L4 = "accelerator.NVIDIA_L4"


def features(**asked: Any) -> set[str]:
    plan = planned(**{**RESOLVED, **asked})
    return {name.removeprefix("vertex.request.") for name in plan.features}


@pytest.mark.parametrize(
    ("asked", "needs"),
    [
        ({"gpus": 0}, {"restart_job_on_worker_restart"}),
        ({"instances": 1}, {L4}),
        ({}, {L4, "restart_job_on_worker_restart"}),
        ({"instances": 1, "spot": True}, {L4, "spot"}),
        (
            {"instances": 1, "flex_start": True, "max_wait": 60},
            {L4, "flex_start", "max_wait_duration"},
        ),
        ({"disable_retries": True}, {L4, "disable_retries"}),
        ({"instances": 1, "web_access": True}, {L4, "enable_web_access"}),
        ({"instances": 1, "reservations": ("any",)}, {L4, "reservation_affinity"}),
        ({"instances": 1, "persistent_resource": "a"}, {L4, "persistent_resource_id"}),
        ({"instances": 1, "network_attachment": "a"}, {L4, "psc_interface_config"}),
        (
            {"instances": 1, "gpus": None, "machine": "g4-standard-48"},
            {"accelerator.NVIDIA_RTX_PRO_6000"},
        ),
    ],
)
def test_a_job_needs_what_it_asks_for(asked: dict[str, Any], needs: set[str]):
    assert features(**asked) == ALWAYS | needs
    # Every one has a row, or is an accelerator that has been there from the start.
    sdk_gate.check({f"vertex.request.{name}" for name in needs}, for_submission=False)


@pytest.mark.parametrize(
    ("asked", "version", "serves"),
    [
        ({}, "1.65.0", False),
        ({}, "1.66.0", True),
        ({}, "2.0.0", False),
        ({}, "2.7.0", True),
        ({}, "3.0.0", False),
        ({"network_attachment": "a"}, "1.97.0", False),
        ({"network_attachment": "a"}, "1.98.0", True),
        ({"gpus": None, "machine": "g4-standard-192"}, "1.119.0", False),
        ({"gpus": None, "machine": "g4-standard-192"}, "1.120.0", True),
        ({"gpus": None, "machine": "a3-megagpu-8g"}, "1.74.0", False),
        ({"gpus": None, "machine": "a3-megagpu-8g"}, "1.75.0", True),
    ],
)
def test_the_gate_refuses_a_client_that_does_not_know_what_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any], version: str, serves: bool
):
    installed = sdk_gate.installed_version
    monkeypatch.setattr(
        sdk_gate, "installed_version", lambda name: version if name == CLIENT else installed(name)
    )
    plan = planned(**{**RESOLVED, **asked})
    found = [finding.package for finding in sdk_gate.check(plan.features, for_submission=True)]
    assert found == ([] if serves else [CLIENT])


@pytest.mark.pip_network
@pytest.mark.parametrize("version", ["1.65.0", "2.0.0"])
def test_a_submission_with_a_client_that_will_not_do_ends_with_3(launch: Launch, version: str):
    launch.write("train.py", "import horovod.tensorflow as hvd\n")
    old = released.installed(f"{CLIENT}=={version}", dependencies=False)
    path = launch.environment({})["PYTHONPATH"]
    words = ("vertex", "train.py", "--gpus", "4", "--image", IMAGE, "--project", "my-project")
    words += ("--location", "us-central1")
    refused = launch(*words, PYTHONPATH=f"{old}:{path}")
    assert refused.code == 3, refused.err
    assert f"{CLIENT}: {version}" in refused.err
    assert ">=1.66,<3,!=2.0.0" in refused.err
    printed = launch(*words, "--dry-run", PYTHONPATH=f"{old}:{path}")
    assert (printed.code, "submission would stop here" in printed.err) == (0, True)
    assert launch("list").err.startswith("no jobs yet")
