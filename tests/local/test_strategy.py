"""Jobs of PyTorch's own ranks on this machine: real ranks by Debian's PyTorch, Gloo and DDP."""

from __future__ import annotations

import pytest

from tests.cli.command import Answer, Launch
from tests.entrypoints.strategies.torch_ranks import PYTHON, need_torch

TWO_HOSTS = ("--instances", "2", "--processes", "2", "--python", str(PYTHON))

DDP = """
import os, torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = torch.nn.Linear(4, 1)
wrapped = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    optimizer.zero_grad()
    {forward}(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "OMP_NUM_THREADS")
print("found", *(os.environ.get(name) for name in names), flush=True)
dist.destroy_process_group()
"""
GOOD, UNWRAPPED = DDP.format(forward="wrapped"), DDP.format(forward="model")
PROOF = "world size 4: 2 hosts x 2 ranks, Gloo"


@pytest.fixture(autouse=True)
def torch() -> None:
    need_torch()


def rows(answer: Answer) -> dict[str, str]:
    """The plan's rows, what each is called and says."""
    lines = [line for line in answer.err.splitlines() if line.startswith("  ")]
    return {line.split()[0]: " ".join(line.split()[1:]) for line in lines if line.split()}


def test_ddp_on_two_hosts_is_seen_in_the_source_started_and_proven(launch: Launch):
    launch.write("train.py", GOOD)
    answer = launch("local", "train.py", *TWO_HOSTS)
    assert answer.code == 0, answer.out + answer.err
    assert f"launch: proof: {PROOF}; gradients exchanged, weights equal" in answer.out
    found = sorted(
        line.partition("found ")[2] for line in answer.out.splitlines() if "found" in line
    )
    assert found == ["0 4 0 2 0 1", "1 4 1 2 0 1", "2 4 0 2 1 1", "3 4 1 2 1 1"]
    plan = rows(answer)
    assert plan["strategy"] == "torch (train.py:6 calls torch.distributed.init_process_group)"
    assert "PyTorch 1.13" in plan["python"]
    assert "Horovod" not in answer.out + answer.err


def test_a_model_that_is_wrapped_and_not_trained_through_the_wrapper_is_no_success(launch: Launch):
    launch.write("train.py", UNWRAPPED)
    answer = launch("local", "train.py", *TWO_HOSTS, "--strategy", "torch")
    assert answer.code == 1, answer.out + answer.err
    assert "4 ranks trained apart" in answer.err
    assert "DistributedDataParallel" in answer.err
    assert rows(answer)["strategy"] == "torch (--strategy)"


def test_what_init_writes_for_torch_runs_as_it_is(launch: Launch):
    assert launch("init", "--strategy", "torch").code == 0
    answer = launch("local", "--python", str(PYTHON))
    assert answer.code == 0, answer.out + answer.err
    assert "world size 2: 2 hosts x 1 rank, Gloo; gradients exchanged, weights equal" in answer.out
    assert "model saved in" in answer.out


def test_one_rank_makes_its_group_without_a_launcher_of_its_own(launch: Launch):
    launch.write("train.py", GOOD)
    answer = launch("local", "train.py", "--python", str(PYTHON))
    assert answer.code == 0, answer.out + answer.err
    assert "found 0 1 0 1 0" in answer.out
    assert "launch: proof: world size 1: 1 host x 1 rank, Gloo" in answer.out


def test_the_document_says_the_strategy_where_it_is_another_than_horovod(launch: Launch):
    launch.write("train.py", GOOD)
    document = launch("local", "train.py", *TWO_HOSTS, "--dry-run").json
    assert document["environment"]["LAUNCH_STRATEGY"] == "torch"
    refused = launch("local", "train.py", *TWO_HOSTS, "--env", "RANK=0", "--dry-run")
    assert (refused.code, "[env-reserved]" in refused.err) == (2, True), refused.err
    assert "PyTorch" in refused.err
