"""Jobs that hang, with real ranks: who is named, whose stacks are told, how the job goes on."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.entrypoints.simulated import HVD, SimulatedJob
from tests.entrypoints.strategies.torch_ranks import PYTHON, need_torch
from tests.waiting import until

MakeJob = Callable[..., SimulatedJob]

AFTER = "3"
INIT = HVD + "import os, sys, threading, time\nhvd.init()\nrank = hvd.rank()\n"


def test_a_job_of_which_nobody_makes_progress_is_told_and_goes_on(make_job: MakeJob) -> None:
    job = make_job(hosts=2, processes=2, LAUNCH_HANG_AFTER=AFTER)
    go = job.folder / "go"
    job.script(
        INIT
        + f"""
def load():
    while rank == 3 and not os.path.exists({str(go)!r}):
        time.sleep(0.05)
def beside():
    time.sleep(1000)
threading.Thread(target=beside, daemon=True).start()
load()
while not os.path.exists({str(go)!r}):
    time.sleep(0.05)
print("trained", rank)
"""
    )
    job.start_all()
    job.until_said("warning: the job hung: no progress for 3 s")
    assert len(job.said(r"\] launch: stacks of rank \d, process \d+:")) == 4
    for rank in range(4):
        own = rf"\[host-{1 + rank // 2}/{rank}\] launch:     File .*source/train.py\", line \d+ in"
        assert len(job.said(own + " <module>")) == 1
        assert len(job.said(own + " beside")) == 1
    assert len(job.said(r"\[host-2/3\] launch:     File .* in load")) == 1
    assert not job.said(r"launch_runtime/|guard\.py")
    go.touch()
    assert job.wait() == [0, 0], job.text()
    assert len(job.said("trained")) == 4
    assert job.said("the ranks make progress again")
    assert not job.failures()


def test_a_rank_with_another_program_in_its_place_is_not_asked_and_lives_on(
    make_job: MakeJob,
) -> None:
    job = make_job(hosts=2, LAUNCH_HANG_AFTER=AFTER)
    job.script(INIT + "if rank: os.execvp('sleep', ['sleep', '1000'])\ntime.sleep(1000)\n")
    job.start_all()
    job.until_said("warning: .* hung")
    assert job.said(r"\[host-2/1\] launch: stacks of rank 1: none could be read, state S")
    assert job.said(r"\[host-1/0\] launch: stacks of rank 0, process \d+")
    assert "sleep 1000 " in job.processes_of_ranks().values()
    for agent in job.agents.values():
        agent.terminate()
    job.wait()


# What a rank calls to wait for others lies where Horovod's own functions do.
EXCHANGE = """
text = "def allreduce():\\n    time.sleep(1000)\\n"
exec(compile(text, "/usr/lib/python3/site-packages/horovod/ops.py", "exec"))
"""


def test_the_rank_that_others_wait_for_is_named_and_the_job_ends_where_that_was_asked_for(
    make_job: MakeJob,
) -> None:
    job = make_job(hosts=2, processes=2, LAUNCH_HANG_AFTER="5", LAUNCH_HANG_ACTION="end")
    job.script(
        f"""{INIT}{EXCHANGE}
def load():
    while True:
        time.sleep(0.2)
if rank == 3:
    load()
allreduce()
"""
    )
    assert job.run() == [1, 1], job.text()
    failure = job.failure()
    assert (failure["rank"], failure["host"]) == (3, "host-2")
    reason = r"rank 3 hung: no progress for 5 s, in train.py:\d+ load; the others wait in allreduce"
    assert re.fullmatch(reason, failure["reason"])
    assert len(job.said(r"\] launch: stacks of rank \d, process \d+:")) == 4
    assert len(job.said(r"launch:     File .*/horovod/ops.py\", line 2 in allreduce")) == 3
    until(lambda: not job.processes_of_ranks(), "the end of all ranks")


def test_what_horovod_says_of_ranks_that_wait_is_no_progress(make_job: MakeJob) -> None:
    job = make_job(hosts=1, processes=2, LAUNCH_HANG_AFTER=AFTER)
    job.script(
        INIT
        + """
print("begun")
while True:
    time.sleep(0.2)
    line = "[2026-11-23 03:10:57.1: W /horovod/common/stall_inspector.cc:107] One or more tensors"
    print(line + " were submitted to be reduced ...\\nMissing ranks:\\n1: [grad.0, grad.1]")
"""
    )
    job.start_all()
    job.until_said("begun", count=2)
    job.until_said("the job hung")


# A monitor that prints all the while, and a training that says how far it is.
BEATS = """
def beat():
    while True:
        time.sleep(0.2)
        print("alive, memory", time.monotonic(), "of 80 GB")
threading.Thread(target=beat, daemon=True).start()
"""


def test_a_rank_whose_lines_count_steps_is_found_though_another_thread_prints(
    make_job: MakeJob,
) -> None:
    job = make_job(hosts=2, LAUNCH_HANG_AFTER=AFTER, LAUNCH_HANG_ACTION="end")
    job.script(
        f"""{INIT}{EXCHANGE}{BEATS}
for step in range(1, 11):
    print(f"step {{step}}/100")
    time.sleep(0.1)
def load():
    time.sleep(1000)
if rank == 1:
    load()
allreduce()
"""
    )
    assert job.run() == [1, 1], job.text()
    reason = job.failure()["reason"]
    assert reason.startswith("rank 1 hung: no progress for 3 s, in train.py:"), reason
    assert reason.endswith("the other waits in allreduce") or "rank 0 waits in allreduce" in reason


def test_a_long_evaluation_that_counts_its_batches_is_no_hang(make_job: MakeJob) -> None:
    job = make_job(hosts=1, processes=2, LAUNCH_HANG_AFTER=AFTER, LAUNCH_HANG_ACTION="end")
    # Longer than three times that, after which lines that count nothing would be a hang.
    job.script(
        f"""{INIT}
for batch in range(50):
    print(f"\\r{{batch}}/50 [===>", end="", flush=True)
    time.sleep(0.2)
print("evaluated", rank)
"""
    )
    assert job.run() == [0], job.text()
    assert len(job.said("evaluated")) == 2


# Ranks of Debian's PyTorch, from the start of their training on. Its import takes seconds, in which
# no other thread of Python runs.
TORCH = """
import time
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 4000
    def __getitem__(self, index):
        if rank == 1 and index == {hangs_at}:
            time.sleep(1000)
        time.sleep({pause})
        return torch.ones(4)

model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
loader = torch.utils.data.DataLoader(Data(), batch_size=4, num_workers={workers})
print("begun")
for step, batch in enumerate(loader):
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()
    if step == {steps}:
        break
"""


@pytest.fixture
def torch_job(make_job: MakeJob) -> MakeJob:
    need_torch()

    def make(**how: object) -> SimulatedJob:
        environment = {"PYTHONPATH": "", "LAUNCH_STRATEGY": "torch", "LAUNCH_PROOF": "init"}
        job = make_job(hosts=1, processes=3, LAUNCH_HANG_AFTER="6", **environment)
        job.python = str(PYTHON)
        job.script(TORCH.format(**how))
        return job

    return make


def test_a_rank_of_torch_whose_data_never_comes_is_named(torch_job: MakeJob) -> None:
    job = torch_job(hangs_at=100, pause=0, workers=1, steps=900)
    job.start_all()
    (warning,) = job.until_said("warning: rank 1 hung")
    assert re.search(
        r"rank 1 hung: no progress for 6 s, in train.py:\d+ <module>, another thread or process in "
        r"train.py:\d+ __getitem__; the others wait in backward; every rank's stack is in the log",
        warning,
    )
    for rank in (0, 2):
        assert job.said(rf"\[host-1/{rank}\] launch:     File .*/torch/autograd/.* in backward")


def test_a_rank_of_torch_is_found_though_another_thread_prints(torch_job: MakeJob) -> None:
    job = torch_job(hangs_at=2000, pause=0.001, workers=0, steps=900)
    text = (job.source / "train.py").read_text()
    job.script(f"import threading, time\n{BEATS}{text}")
    job.start_all()
    (warning,) = job.until_said("warning: rank 1 hung")
    assert "no progress for 6 s" in warning
    assert "the others wait in backward" in warning


def test_slow_steps_that_print_nothing_are_progress(torch_job: MakeJob) -> None:
    job = torch_job(hangs_at=-1, pause=0.5, workers=0, steps=4)
    assert job.run() == [0], job.text()
    _, begun, after = job.text().rpartition("begun")
    assert begun
    assert "hung" not in after
