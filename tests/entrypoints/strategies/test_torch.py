"""Jobs of torch.distributed through the real agent, with real ranks: what must fail, and pass."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from tests.entrypoints.simulated import SimulatedJob
from tests.entrypoints.strategies import torch_ranks
from tests.waiting import processes_with, until

MakeJob = Callable[..., SimulatedJob]
SECONDS = 120.0

TRAIN = """
import os, sys, torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def train(steps=4, middle=lambda: None):
    torch.manual_seed(dist.get_rank())
    model = DDP(torch.nn.Linear(20, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(8, 20)).pow(2).mean().backward()
        optimizer.step()
        middle()
"""


@pytest.fixture
def torch_job(make_job: MakeJob) -> MakeJob:
    torch_ranks.need_torch()

    def make(**how: object) -> SimulatedJob:
        job = make_job(LAUNCH_STRATEGY="torch", PYTHONPATH="", **how)
        job.python = str(torch_ranks.PYTHON)
        return job

    return make


def test_ranks_find_their_places_and_train_together(torch_job: MakeJob) -> None:
    """Whatever Vertex AI or an outer torchrun has left in the agent's environment."""
    job = torch_job(hosts=2, processes=2)
    job.script(
        TRAIN
        + """
dist.init_process_group("gloo")
train()
names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE",
         "ROLE_RANK", "ROLE_WORLD_SIZE", "NODE_RANK", "OMP_NUM_THREADS", "LAUNCH_SEAT", "TF_CONFIG",
         "TORCHELASTIC_USE_AGENT_STORE")
print("place", *[os.environ.get(name, "-") for name in names])
print("met at", os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"])
dist.destroy_process_group()
"""
    )
    strays = {"RANK": "7", "WORLD_SIZE": "9", "MASTER_PORT": "1", "TF_CONFIG": "{}"}
    assert job.run(seconds=SECONDS, TORCHELASTIC_USE_AGENT_STORE="True", **strays) == [0, 0]
    proof = "[host-1/0] launch: proof: world size 4: 2 hosts x 2 ranks, Gloo"
    assert job.said("proof") == [proof, f"{proof}; gradients exchanged, weights equal"]
    assert sorted(line.partition("place ")[2] for line in job.said(" place ")) == [
        f"{rank} 4 {rank % 2} 2 {rank // 2} 2 {rank} 4 {rank // 2} 1 - - -" for rank in range(4)
    ]
    (place,) = {line.partition("met at ")[2] for line in job.said("met at")}
    assert place.startswith("127.0.0.1 ")
    assert place != "127.0.0.1 1"


# what the ranks do; what the failure says
NO_WORLD = {
    "no group where a variable is missing": (
        """
import subprocess, sys
worker = '''
import os, torch.distributed as dist
if "WORLD_SIZE" in os.environ:
    dist.init_process_group("gloo")
'''
sys.exit(subprocess.call([sys.executable, "-c", worker], env={"PATH": "/usr/bin"}))
""",
        "ended without ever having called init_process_group",
    ),
    "the number of hosts as world size": (
        """
import os, torch.distributed as dist
os.environ.update(WORLD_SIZE="1", RANK="0", MASTER_PORT=str(int(os.environ["RANK"]) + 23456))
dist.init_process_group("gloo")
""",
        "found world size 1, rank 0 when init_process_group returned: the script has changed ",
    ),
    "a world of its own by arguments": (
        """
import tempfile, torch.distributed as dist
dist.init_process_group("gloo", f"file://{tempfile.mktemp()}", rank=0, world_size=1)
""",
        "init_process_group was called with world_size=1 and rank=0",
    ),
    "a failure that follows another one": (
        """
import torch.distributed as dist
dist.init_process_group("gloo")
if dist.get_rank() == 1:
    raise ValueError("boom")
dist.barrier()
""",
        "ValueError: boom",
    ),
}


@pytest.mark.parametrize("name", NO_WORLD)
def test_ranks_that_are_no_job_fail_and_say_why(name: str, torch_job: MakeJob) -> None:
    script, said = NO_WORLD[name]
    job = torch_job(hosts=2)
    job.script(script)

    assert job.run(seconds=SECONDS) == [1, 1], job.text()

    assert said in job.failure()["reason"]
    assert "hvd" not in job.text()
    assert not job.said("proof: world size 1")


def test_a_model_that_was_never_wrapped_fails_the_job_with_the_fix(torch_job: MakeJob) -> None:
    job = torch_job(hosts=1, processes=2)
    job.script(TRAIN.replace("DDP(torch", "(torch") + 'dist.init_process_group("gloo")\ntrain()')

    assert job.run(seconds=SECONDS) == [1], job.text()

    assert job.failure()["reason"].startswith("2 ranks trained apart: no gradient")
    assert "DistributedDataParallel" in job.failure()["fix"]


def test_a_rank_that_leaves_early_fails_the_job(torch_job: MakeJob) -> None:
    job = torch_job(hosts=2)
    job.script(
        TRAIN
        + """
dist.init_process_group("gloo")
train(50, lambda: dist.get_rank() == 1 and os._exit(0))
"""
    )
    assert job.run(seconds=SECONDS) == [1, 1], job.text()
    assert job.failure()["rank"] == 0
    assert job.failure()["reason"].startswith("a rank ended before the others")


def test_a_rank_that_is_killed_is_the_one_named(torch_job: MakeJob) -> None:
    job = torch_job(hosts=2)
    job.script(
        TRAIN
        + """
dist.init_process_group("gloo")
train(10**9, lambda: print("in the middle", flush=True))
"""
    )
    job.start_all()
    job.until_said(r"/1\] in the middle", SECONDS)
    (guard,) = [
        pid
        for pid in processes_with("RANK=1")
        if "guard.py" in job.processes_of_ranks().get(pid, "")
    ]
    os.kill(guard, signal.SIGKILL)
    until(lambda: not job.processes_of_ranks(), "the end of all ranks")
    assert job.wait() == [137, 137]
    assert (job.failure()["rank"], job.failure()["signal"]) == (1, "SIGKILL")


def test_a_group_in_a_spawned_child_is_proven(torch_job: MakeJob) -> None:
    job = torch_job(hosts=2)
    job.script(
        TRAIN
        + """
def main(number):
    dist.init_process_group("gloo")
    train()
    dist.destroy_process_group()

if __name__ == "__main__":
    torch.multiprocessing.spawn(main, nprocs=1)
"""
    )
    assert job.run(seconds=SECONDS) == [0, 0], job.text()
    assert job.said("proof: world size 2: 2 hosts x 1 rank, Gloo; gradients exchanged")
