"""Jobs of other strategies than Horovod in containers; their image has no MPI and no toolkit."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from launchers.core.proof import NO_NONCE
from launchers.image.names import GPU_LABEL
from tests.cli.command import Launch
from tests.image import debian_torch
from tests.image.engine import own_tag
from tests.rehearsal.boxes import things_of
from tests.rehearsal.requests import SMALL, foreign, rehearse, source

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("torch-containers"),
]

# On machines without GPUs.
VERTEX = ("vertex", "train.py", "--instances", "2", "--gpus", "0")
DDP = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = {model}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
dist.destroy_process_group()
"""
WRAPPED = DDP.format(model="DistributedDataParallel(torch.nn.Linear(4, 1))")


def test_ranks_of_torch_train_in_containers_and_are_proven(
    launch: Launch, torch_image: str, client: Any
) -> None:
    launch.write("train.py", WRAPPED)
    asked = (*VERTEX, "--processes", "2", "--image", torch_image)
    printed = launch(*asked, "--dry-run")
    answer = launch(*asked, "--dry-run=docker", "--json")
    assert answer.code == 0, answer.err
    result = answer.json
    trained = "world size 4: 2 hosts x 2 ranks, Gloo; gradients exchanged, weights equal"
    assert result["proof"] == trained
    consumed = Path(result["folder"], "document.json").read_text()
    assert consumed == printed.out, "what ran is what a dry run prints, byte for byte"
    assert '"LAUNCH_STRATEGY"' in consumed
    assert not any("HOROVOD" in text for text in result["deviations"])
    assert things_of(client, result["name"]) == []


def test_sagemakers_containers_start_our_agent_for_ranks_of_torch(
    launch: Launch, torch_image: str
) -> None:
    launch.write("train.py", WRAPPED)
    words = ("sagemaker", "train.py", *SMALL, "--image", torch_image)
    answer = launch(*words, "--dry-run=docker", "--json")
    assert answer.code == 0, answer.err
    trained = "world size 2: 2 hosts x 1 rank, Gloo; gradients exchanged, weights equal"
    assert answer.json["proof"] == trained
    document = json.loads(Path(answer.json["folder"], "document.json").read_text())
    assert "ContainerEntrypoint" in document["AlgorithmSpecification"]


def test_torchruns_flag_does_nothing_where_the_toolkit_does_not_know_it(
    launch: Launch, toolkit_image: str, client: Any
) -> None:
    document = foreign(toolkit_image, ranks=2)
    del document["HyperParameters"]["sagemaker_mpi_enabled"]
    document["HyperParameters"]["sagemaker_torch_distributed_enabled"] = "true"
    folder = source(launch, WRAPPED)
    with own_tag() as (_, tag):
        add_torch(client, tag, toolkit_image)
        document["AlgorithmSpecification"]["TrainingImage"] = tag
        words = ("--source", str(folder), "--world-size", "4", "--despite-problems")
        answer = rehearse(launch, document, *words)
    assert (answer.code, answer.json["state"]) == (1, "failed"), answer.err
    reason = answer.json["reason"]
    assert reason.startswith("2 jobs of world size 1 where one of 4 was expected: algo-"), reason
    assert "python3 -- train.py" in answer.err, "the toolkit's own command, without torchrun"
    assert "fix: let launch start the job, with --strategy torch" in answer.err


def add_torch(client: Any, tag: str, image: str) -> None:
    """``image`` with Debian's PyTorch for its environment's Python, under ``tag``; none of ours by
    its labels, where another test looks for that."""
    site = "/opt/venv/lib/python3.11/site-packages"
    dockerfile = f"""\
FROM {debian_torch.TAG} AS torch
FROM {image}
COPY --from=torch /usr/lib /usr/lib
COPY --from=torch /etc/alternatives /etc/alternatives
LABEL {GPU_LABEL}=none
RUN ldconfig && echo /usr/lib/python3/dist-packages > {site}/debian.pth
"""
    file = io.BytesIO(dockerfile.encode())
    client.images.build(fileobj=file, tag=tag, rm=True, forcerm=True)


def test_ranks_that_never_wrap_their_model_fail_in_containers_too(
    launch: Launch, torch_image: str
) -> None:
    launch.write("train.py", DDP.format(model="torch.nn.Linear(4, 1)"))
    answer = launch(*VERTEX, "--image", torch_image, "--dry-run=docker", "--json")
    assert (answer.code, answer.json["state"]) == (1, "failed"), answer.err
    assert "2 ranks trained apart" in answer.json["reason"]


def test_an_image_without_the_framework_is_refused_before_any_rank(
    launch: Launch, toolkit_image: str, client: Any
) -> None:
    launch.write("train.py", WRAPPED)
    answer = launch(*VERTEX, "--image", toolkit_image, "--name", "lacks", "--dry-run=docker")
    assert answer.code == 2
    assert f"{toolkit_image}: PyTorch: not there" in answer.err
    assert "launch image build --with torch" in answer.err
    assert "[image-strategy]" in answer.err
    assert "proof: world size" not in answer.out + answer.err
    assert things_of(client, "lacks-1") == []


def test_a_document_from_elsewhere_is_watched_by_its_own_strategy(
    launch: Launch, torch_image: str
) -> None:
    # Vertex AI's own RANK, WORLD_SIZE and MASTER_ADDR serve a job of one process a replica.
    container = {"imageUri": torch_image, "command": ["python3", "-c", WRAPPED]}
    pool = {
        "machineSpec": {"machineType": "n1-standard-8"},
        "replicaCount": 1,
        "containerSpec": container,
    }
    launch.write("job.json", json.dumps({"workerPoolSpecs": [pool, pool]}))
    words = ("--strategy", "torch", "--world-size", "2", "--json")
    answer = launch("rehearse", "job.json", *words)
    assert answer.code == 0, answer.err
    assert answer.json["proof"] == f"world size 2: 2 hosts x 1 rank, Gloo ({NO_NONCE})"
    assert any("watch on init_process_group()" in text for text in answer.json["deviations"])
