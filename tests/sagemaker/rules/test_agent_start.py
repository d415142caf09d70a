"""A request whose containers start our agent: what it starts, and what must not stand in it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from launchers.core.model.problems import LaunchError, errors
from launchers.sagemaker.contract import contract, unlike
from launchers.sagemaker.document import ENTRYPOINT, bootstrap, starts_agent
from launchers.sagemaker.planning.image_choice import choose_image
from launchers.sagemaker.planning.plan import SageMakerPlan
from launchers.sagemaker.rules.document import check
from launchers.sagemaker.starts.read import start_of
from tests.cli.command import Launch
from tests.sagemaker.documents import prepared

Document = dict[str, Any]

DDP = """\
import torch
import torch.distributed as dist
dist.init_process_group("nccl")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
"""


@lru_cache(maxsize=1)
def _text() -> str:
    return prepared(strategy="torch", arguments=("--lr", "1.10")).definition.text


@pytest.fixture
def document() -> Document:
    """Of 2 hosts with 4 GPUs, by PyTorch."""
    return json.loads(_text())


def test_the_agent_starts_the_ranks_and_no_toolkit_is_told_anything(document: Document) -> None:
    algorithm = document["AlgorithmSpecification"]
    assert tuple(algorithm["ContainerEntrypoint"]) == ENTRYPOINT
    sha256, *lines = algorithm["ContainerArguments"]
    assert sha256 in document["InputDataConfig"][-1]["DataSource"]["S3DataSource"]["S3Uri"]
    assert tuple(lines) == bootstrap()
    assert not [name for name in document["HyperParameters"] if "_mpi_" in name]
    assert json.loads(document["HyperParameters"]["sagemaker_launch_args"]) == ["--lr", "1.10"]
    assert document["Environment"]["LAUNCH_STRATEGY"] == "torch"
    assert document["Environment"]["FI_PROVIDER"] == "efa"
    assert check(document) == []
    start = start_of(document)
    assert (start.ranks, start.because) == (8, "launch's agent over 2 hosts x 4 processes")


def test_the_service_takes_words_of_that_length_and_number() -> None:
    assert max(map(len, bootstrap())) <= 256
    assert len(bootstrap()) + 1 <= 100
    assert all("\n" not in line for line in bootstrap())


def test_a_request_by_mpi_is_as_ever() -> None:
    document = json.loads(prepared().definition.text)
    assert not starts_agent(document)
    assert set(document["AlgorithmSpecification"]) & {
        "ContainerEntrypoint",
        "ContainerArguments",
    } == (set())
    assert "LAUNCH_STRATEGY" not in document["Environment"]


def _algorithm(**values: Any) -> Callable[[Document], None]:
    return lambda document: document["AlgorithmSpecification"].update(values)


def _parameter(name: str, value: str) -> Callable[[Document], None]:
    return lambda document: document["HyperParameters"].update({name: value})


def _variable(name: str, value: str) -> Callable[[Document], None]:
    return lambda document: document["Environment"].update({name: value})


def _without_entry_point(document: Document) -> None:
    for name in ("ContainerEntrypoint", "ContainerArguments"):
        del document["AlgorithmSpecification"][name]


def _other_line(document: Document) -> None:
    document["AlgorithmSpecification"]["ContainerArguments"][5] = "root = '/tmp'"


def _other_hash(document: Document) -> None:
    document["AlgorithmSpecification"]["ContainerArguments"][0] = 64 * "0"


def _no_hash(document: Document) -> None:
    document["AlgorithmSpecification"]["ContainerArguments"][0] = "latest"


def _without_code(document: Document) -> None:
    document["InputDataConfig"].pop()


ARGUMENTS = "$.AlgorithmSpecification.ContainerArguments"
ENTRY = "$.AlgorithmSpecification.ContainerEntrypoint"
HYPER = "$.HyperParameters"
# Name: (what is done to the document, the path, the rule).
BROKEN: dict[str, tuple[Callable[[Document], None], str, str]] = {
    "no entry point": (_without_entry_point, ENTRY, "agent-start"),
    "another entry point": (_algorithm(ContainerEntrypoint=["python3"]), ENTRY, "agent-start"),
    "no program": (_algorithm(ContainerArguments=[]), ARGUMENTS, "agent-start"),
    "a changed line": (_other_line, f"{ARGUMENTS}[5]", "agent-start"),
    "another hash": (_other_hash, f"{ARGUMENTS}[0]", "agent-code"),
    "no hash": (_no_hash, f"{ARGUMENTS}[0]", "agent-code"),
    "an unknown strategy": (
        _variable("LAUNCH_STRATEGY", "mpi"), "$.Environment.LAUNCH_STRATEGY", "agent-strategy",
    ),
    "MPI besides": (
        _parameter("sagemaker_mpi_enabled", "true"), f"{HYPER}.sagemaker_mpi_enabled", "agent-flag",
    ),
    "MPI's count besides": (
        _parameter("sagemaker_mpi_num_of_processes_per_host", "4"),
        f"{HYPER}.sagemaker_mpi_num_of_processes_per_host",
        "agent-flag",
    ),
    "torchrun besides": (
        _parameter("sagemaker_torch_distributed_enabled", "true"),
        f"{HYPER}.sagemaker_torch_distributed_enabled",
        "agent-flag",
    ),
    "fewer processes": (
        _variable("LAUNCH_PROCESSES", "2"), "$.Environment.LAUNCH_PROCESSES", "world-size",
    ),
    "no code": (_without_code, "$.InputDataConfig", "start-guard"),
    "no arguments": (
        _parameter("sagemaker_launch_args", '"--lr"'),
        f"{HYPER}.sagemaker_launch_args",
        "start-script",
    ),
    "an image of TensorFlow": (
        _algorithm(
            TrainingImage="763104351884.dkr.ecr.us-east-1.amazonaws.com/"
            "tensorflow-training:2.18.0-gpu-py310"
        ),
        "$.AlgorithmSpecification.TrainingImage",
        "framework-other",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_with_the_start_is_named_by_its_path(name: str, document: Document) -> None:
    change, path, rule = BROKEN[name]
    changed = copy.deepcopy(document)
    change(changed)
    found = [(one.path, one.rule) for one in errors(check(changed))]
    assert (path, rule) in found, found


MISUSES: dict[str, tuple[dict[str, Any], str, str]] = {
    "an option for mpirun": ({"mpi_options": ("-verbose",)}, "--mpi-option", "mpi-option-unused"),
    "another framework": (
        {"framework": "tensorflow-2.18"},
        "$.AlgorithmSpecification.TrainingImage",
        "framework-other",
    ),
    "requirements without a network": (
        {"isolate": True, "requirements": "requirements.txt"}, "--isolate", "isolation",
    ),
    "a variable of PyTorch's": (
        {"environment": {"MASTER_ADDR": "x"}}, "--env MASTER_ADDR", "env-reserved",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISUSES)
def test_flags_that_do_not_go_with_it_are_refused(name: str) -> None:
    asked, path, rule = MISUSES[name]
    try:
        problems = prepared(strategy="torch", **asked).problems
    except LaunchError as error:
        problems = error.problems
    found = [(one.path, one.rule) for one in errors(problems)]
    assert found.count((path, rule)) == 1, found


def test_each_host_of_a_rehearsal_gets_the_command_and_its_ranks(document: Document) -> None:
    hosts = contract(document, ranks_per_host=1)
    assert [(host.name, host.ranks, host.leader) for host in hosts] == [
        ("algo-1", (0,), True),
        ("algo-2", (1,), False),
    ]
    first = hosts[0]
    assert first.entrypoint == ENTRYPOINT
    assert first.command[1:] == bootstrap()
    assert (first.code_digest, first.code) == (
        first.command[0],
        "/opt/ml/input/data/code/sourcedir.tar.gz",
    )
    assert first.environment["LAUNCH_WORLD_SIZE"] == "2"
    assert unlike(document) == ""


def test_the_plan_says_who_starts_the_ranks_in_which_image(launch: Launch) -> None:
    launch.write("train.py", DDP)
    words = ("sagemaker", "train.py", "--instances", "2", "--gpus", "4")
    answer = launch(*words, "--framework", "pytorch-2.6", "--dry-run")
    assert answer.code == 0, answer.err
    told = " ".join(answer.err.split())
    assert "ranks 2 hosts x 4 ranks = world size 8, by our agent" in told
    assert "PyTorch 2.6.0, Python 3.12, CUDA 12.6; AWS's end of patch for it: 2026-01-29" in told
    assert "strategy torch (train.py:3 calls torch.distributed.init_process_group)" in told
    launch.write("job.json", answer.out)
    checked = launch("check", "job.json", "--world-size", "8", "--json")
    assert (checked.code, checked.json["because"]) == (
        0,
        "launch's agent over 2 hosts x 4 processes",
    )


def test_a_script_by_horovod_keeps_its_refusal_of_an_image_without_it(launch: Launch) -> None:
    launch.write("train.py", "import horovod.torch as hvd\nhvd.init()\n")
    words = ("sagemaker", "train.py", "--gpus", "4", "--framework", "pytorch-2.6", "--dry-run")
    answer = launch(*words)
    assert (answer.code, "[image-horovod]" in answer.err) == (2, True)


ALONE = {
    "import torch\n": "/pytorch:",
    "import tensorflow as tf\n": "/tensorflow-training:2.21",
    "print(1)\n": "/pytorch:",
}


@pytest.mark.parametrize("text", ALONE)
def test_one_rank_without_a_strategy_gets_the_image_of_what_it_imports(
    text: str, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(text)
    made = prepared(script=str(tmp_path / "train.py"), instances=1, gpus=1)
    assert made.definition.document["Environment"]["LAUNCH_STRATEGY"] == "none"
    assert ALONE[text] in made.definition.document["AlgorithmSpecification"]["TrainingImage"]
    assert (start_of(made.definition.document).ranks, errors(made.problems)) == (1, [])


def test_a_strategy_of_one_process_a_host_counts_a_replica_on_each_gpu() -> None:
    made = prepared(strategy="tensorflow")
    document = made.definition.document
    assert document["Environment"]["LAUNCH_PROCESSES"] == "1"
    assert document["Environment"]["LAUNCH_WORLD_SIZE"] == "8"
    assert "/tensorflow-training:2.21" in document["AlgorithmSpecification"]["TrainingImage"]
    start = start_of(document)
    assert (start.ranks, start.because) == (8, "launch's agent over 2 hosts x 4 replicas")
    assert [host.ranks for host in contract(document)] == [(0,), (1,)]
    assert check(document) == []
    ranks = [row.text for row in made.plan.rows if row.label == "ranks"]
    assert ranks == ["2 hosts x 1 process x 4 replicas = world size 8, by our agent"]


def test_what_the_request_needs_of_the_sdks_is_asked_before_it_is_sent() -> None:
    feature = "sagemaker.request.ContainerEntrypoint"
    assert feature in prepared(strategy="torch").plan.features
    assert feature not in prepared().plan.features


def test_what_no_image_of_awss_has_needs_one_of_the_users_own() -> None:
    plan = prepared(strategy="torch").plan
    assert isinstance(plan, SageMakerPlan)
    other = replace(plan.strategy.strategy, title="JAX", package="jax")
    found = choose_image(plan.job, plan.machine, plan.account, other, "jax")
    assert [(one.path, one.rule, one.found) for one in found.problems] == [
        ("--image", "image-default", "none, and no image of AWS's has jax")
    ]
