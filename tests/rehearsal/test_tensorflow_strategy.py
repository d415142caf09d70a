"""TensorFlow's own strategies in containers of both clouds: one process a host, no MPI, no ssh."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import Launch
from tests.entrypoints.strategies import tensorflow_scripts as scripts
from tests.rehearsal.requests import SMALL

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timeout(300),
]

QUIET = ("--env", "TF_CPP_MIN_LOG_LEVEL=3")
TRAINED = "world size 2: 2 hosts x 1 replica, gRPC; gradients exchanged, weights equal"


def test_sagemakers_containers_start_our_agent_for_a_fit_under_keras_2(
    launch: Launch, toolkit_image: str
) -> None:
    launch.write("train.py", scripts.HOSTS + scripts.FIT)
    words = ("sagemaker", "train.py", *SMALL, "--image", toolkit_image, "--keras", "2", *QUIET)
    answer = launch(*words, "--dry-run=docker", "--json")
    assert answer.code == 0, answer.err
    assert answer.json["proof"] == TRAINED
    document = json.loads(Path(answer.json["folder"], "document.json").read_text())
    assert "ContainerEntrypoint" in document["AlgorithmSpecification"]
    assert document["Environment"]["LAUNCH_STRATEGY"] == "tensorflow"
    assert "sagemaker_mpi_enabled" not in document["HyperParameters"]


def test_vertex_ais_containers_train_a_loop_of_the_scripts_own(
    launch: Launch, toolkit_image: str
) -> None:
    launch.write("train.py", scripts.HOSTS + scripts.LOOP + "loop()\n")
    words = ("vertex", "train.py", "--instances", "2", "--gpus", "0", "--image", toolkit_image)
    answer = launch(*words, *QUIET, "--dry-run=docker", "--json")
    assert answer.code == 0, answer.err
    assert answer.json["proof"] == TRAINED
    assert "2 hosts x 1 process x 1 replica = world size 2" in answer.err
    assert "rehearsed with 2 of 2 replicas" in answer.err
