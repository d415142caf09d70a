"""Roles: one that is there is the capability, and a service is loaded on use."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields

import pytest

from launchers.core.model.jobs import JobHandle, Listener
from launchers.core.model.problems import LaunchError
from launchers.core.registry import PROVIDERS, provider, providers_with
from launchers.core.spec.job import JobSpec
from launchers.core.spec.option import option_fields


@pytest.mark.parametrize("name", PROVIDERS)
def test_what_a_provider_leaves_unused_are_options_of_a_job(name: str):
    unused = provider(name).definer.unused
    assert unused <= {item.name for item in fields(JobSpec)}
    left = {item.name for item, _ in option_fields(JobSpec, unused)}
    assert not left & unused


def test_roles_are_found_by_what_a_provider_plays():
    assert list(providers_with(lambda one: one.catalogue)) == ["sagemaker", "vertex"]
    assert list(providers_with(lambda one: one.reader)) == ["sagemaker", "vertex", "spark"]
    assert list(providers_with(lambda one: one.contract)) == ["sagemaker", "vertex", "spark"]
    assert list(providers_with(lambda one: one.service)) == list(PROVIDERS)


def test_an_unknown_provider_is_named_with_the_nearest_one():
    with pytest.raises(LaunchError, match="did you mean vertex"):
        provider("vertx")


def test_a_listener_is_given_to_a_service_and_changes_no_other():
    listener, before = Listener(), provider("local").service
    heard = provider("local").heard_by(listener)
    assert heard.service.listener is listener
    assert heard.service is heard.service
    assert provider("local").service is before
    assert before.listener is not listener


def test_a_job_of_this_machine_is_in_the_ledger_or_nowhere():
    assert provider("local").service.adopt("train", None) is None


@pytest.mark.parametrize("name", ["sagemaker", "vertex"])
def test_jobs_on_a_cloud_outlive_their_process_by_themselves(name: str):
    service = provider(name).service
    handle = JobHandle(name, "train-01234567-1")
    service.detach(handle)
    assert not service.without_gpus(handle)


@pytest.mark.processes
def test_no_service_is_loaded_with_its_provider():
    """Nor is an SDK with the service: what the ledger knows is answered without one."""
    program = """
import sys
before = set(sys.modules)  # google, where a package's .pth file makes that namespace
from launchers.core.registry import PROVIDERS, provider
for name in PROVIDERS:
    provider(name)
assert not [name for name in sys.modules if ".service." in f"{name}."], "with the provider"
for name in PROVIDERS:
    provider(name).service
loaded = set(sys.modules) - before
sdks = [name for name in loaded if name.split(".")[0] in ("boto3", "botocore", "google")]
assert not sdks, sdks
"""
    subprocess.run([sys.executable, "-c", program], check=True)
