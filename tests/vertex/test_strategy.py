"""CustomJobs whose ranks are PyTorch's own: the same agent, told by one variable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from launchers.core.model.problems import Problem, errors
from launchers.core.records.pushed_image import remember_pushed
from launchers.core.registry import provider
from tests.cli.command import Launch

DDP = "import torch.distributed as dist\ndist.init_process_group('nccl')\n"
GOOGLES = "us-docker.pkg.dev/vertex-ai/training/pytorch-gpu.2-4.py310:latest"
WORDS = ("vertex", "train.py", "--gpus", "4", "--instances", "3", "--dry-run")
PUSHED = f"us-docker.pkg.dev/p/r/launch-torch@sha256:{'0' * 64}"


def examined(document: object) -> tuple[str, list[Problem]]:
    reader = provider("vertex").reader
    assert reader is not None
    assert isinstance(document, dict)
    found = reader.examine(document)
    return found.definition.strategy, errors(list(found.problems))


def test_every_replica_is_told_the_strategy_and_googles_own_image_serves(launch: Launch):
    launch.write("train.py", DDP)
    answer = launch(*WORDS, "--image", GOOGLES)
    assert answer.code == 0, answer.err
    for pool in answer.json["jobSpec"]["workerPoolSpecs"]:
        variables = {one["name"]: one["value"] for one in pool["containerSpec"]["env"]}
        assert variables["LAUNCH_STRATEGY"] == "torch"
        assert variables["LAUNCH_WORLD_SIZE"] == "12"
    assert examined(answer.json) == ("torch", [])
    assert "image-horovod" not in answer.err


def test_the_same_image_is_refused_for_horovod(launch: Launch):
    launch.write("train.py", "import horovod.torch as hvd\nhvd.init()\n")
    answer = launch(*WORDS, "--image", GOOGLES)
    assert (answer.code, "[image-horovod]" in answer.err) == (2, True)
    document = launch(*WORDS).json
    for pool in document["jobSpec"]["workerPoolSpecs"]:
        names = [one["name"] for one in pool["containerSpec"]["env"]]
        assert "LAUNCH_STRATEGY" not in names


def test_the_image_that_was_pushed_for_torch_is_torchs_default_alone(
    launch: Launch, monkeypatch: pytest.MonkeyPatch
):
    launch.write("train.py", DDP)
    missing = launch(*WORDS)
    assert "launch image build --with torch --push" in missing.err
    monkeypatch.setenv("LAUNCH_HOME", str(launch.home))
    remember_pushed(PUSHED, "x", "torch")
    assert PUSHED in launch(*WORDS).out
    assert PUSHED not in launch(*WORDS, "--strategy", "horovod").out


@pytest.mark.parametrize("name", ["MASTER_ADDR", "LOCAL_RANK"])
def test_a_variable_that_says_a_ranks_place_is_refused(launch: Launch, name: str):
    launch.write("train.py", DDP)
    answer = launch(*WORDS, "--image", GOOGLES, "--env", f"{name}=0")
    assert (answer.code, "[env-reserved]" in answer.err) == (2, True)
    assert f"--env {name}" in answer.err


def test_check_reads_the_source_for_the_strategy_of_the_document(launch: Launch, tmp_path: Path):
    launch.write("train.py", DDP)
    launch.write("job.json", json.dumps(launch(*WORDS, "--image", GOOGLES).json))
    passed = launch("check", "job.json", "--source", ".")
    assert passed.code == 0, passed.out + passed.err
    launch.write("other/train.py", "import horovod.torch as hvd\nhvd.init()\n")
    refused = launch("check", "job.json", "--source", "other")
    assert (refused.code, "strategy-other" in refused.out + refused.err) == (2, True)
