"""LAUNCH_TAGS: under which names a job's ranks, and what tracks them, find what the job is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.command import Launch

WORDS = {
    "local": ["--instances", "2", "--processes", "2"],
    "sagemaker": ["--instances", "2", "--machine", "ml.p3.8xlarge"],
    "spark": ["--instances", "2", "--master", "spark://127.0.0.1:7077"],
    "vertex": ["--instances", "2", "--gpus", "4", "--image", "europe-docker.pkg.dev/p/r/i:1"],
}
WORDS["vertex"] += ["--machine", "g2-standard-48"]
MACHINES = {"sagemaker": "ml.p3.8xlarge", "vertex": "g2-standard-48"}
JOINS = "import horovod.tensorflow as hvd\nhvd.init()\n"


def variables(provider: str, document: Any) -> dict[str, str]:
    """Those of the ranks, as a document has them."""
    if provider == "local":
        return dict(document["environment"])
    if provider == "sagemaker":
        return dict(document["Environment"])
    if provider == "spark":
        prefix = "spark.executorEnv."
        conf = document["conf"].items()
        return {name.removeprefix(prefix): text for name, text in conf if name.startswith(prefix)}
    container = document["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]
    return {item["name"]: item["value"] for item in container["env"]}


@pytest.mark.parametrize("provider", list(WORDS))
def test_every_provider_tells_the_ranks_what_the_job_is(launch: Launch, provider: str):
    launch.write("train.py", JOINS)
    answer = launch(provider, "train.py", *WORDS[provider], "--dry-run")
    told = variables(provider, answer.json)
    tags = json.loads(told["LAUNCH_TAGS"])
    assert tags["job"] == told["LAUNCH_JOB"]
    assert (tags["provider"], tags["instances"], tags["strategy"]) == (provider, "2", "horovod")
    assert tags["world_size"] == told["LAUNCH_WORLD_SIZE"]
    assert len(tags["source"]) == 64
    assert tags.get("machine") == MACHINES.get(provider)
    assert all(isinstance(text, str) for text in tags.values())


def test_mpirun_hands_the_tags_to_ranks_on_other_hosts(launch: Launch):
    launch.write("train.py", JOINS)
    document = launch("sagemaker", "train.py", *WORDS["sagemaker"], "--dry-run").json
    options = json.loads(document["HyperParameters"]["sagemaker_mpi_custom_mpi_options"])
    assert "-x LAUNCH_TAGS" in options


@pytest.mark.parametrize("provider", list(WORDS))
def test_tags_make_no_other_job_and_the_user_cannot_set_them(launch: Launch, provider: str):
    launch.write("train.py", JOINS)
    words = [provider, "train.py", *WORDS[provider]]
    first, second = launch(*words, "--dry-run"), launch(*words, "--dry-run")
    assert first.out == second.out
    refused = launch(*words, "--env", "LAUNCH_TAGS={}", "--dry-run")
    assert refused.code == 2
    assert "LAUNCH_TAGS" in refused.err


def test_a_rank_of_a_local_job_finds_its_tags(launch: Launch):
    launch.write("train.py", "import os\nprint('TAGS', os.environ['LAUNCH_TAGS'])\n")
    answer = launch("local", "train.py", "--no-file")
    assert answer.code == 0, answer.err
    line = next(one for one in answer.out.splitlines() if "TAGS" in one)
    tags = json.loads(line[line.index("{") :])
    assert (tags["provider"], tags["world_size"]) == ("local", "1")
