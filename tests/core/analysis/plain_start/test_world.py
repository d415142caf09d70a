"""The worlds that the hosts of one job make."""

from __future__ import annotations

import shlex

import pytest

from launchers.core.analysis.plain_start.start import read_start
from launchers.core.analysis.plain_start.world import Hosts, world_of

MEET = "torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=h:1 t.py"
FIRST = "torchrun --nnodes=2 --nproc_per_node=4 --node_rank=0 --master_addr=h t.py"
SECOND = FIRST.replace("node_rank=0", "node_rank=1")


def of_three(text: str) -> str:
    return text.replace("--nnodes=2", "--nnodes=3")


def world(*commands: str, counts: tuple[int, ...] = (), gpus: int = 4):
    counts = counts or (1,) * len(commands)
    return world_of(
        [
            Hosts(read_start(shlex.split(text), gpus), count, gpus)
            for text, count in zip(commands, counts, strict=True)
        ]
    )


@pytest.mark.parametrize(
    ("commands", "counts", "started"),
    [
        (["horovodrun -np 4 python t.py"], (1,), 4),
        (["torchrun --nproc_per_node=4 t.py"], (1,), 4),
        ([MEET], (2,), 8),
        ([FIRST, SECOND], (1, 1), 8),
        (["mpirun -np 8 -H a:4,b:4 python t.py", "/usr/sbin/sshd -D"], (1, 1), 8),
        ([MEET.replace("=2", "=1:2")], (2,), None),
        (["python t.py"], (2,), None),
        (["python t.py"], (1,), None),  # one process with four GPUs
        (["horovodrun -np 4 python t.py", "python t.py"], (1, 1), None),
        (["./start.sh"], (2,), None),
        (["mpirun -np 8 -H a:4,b:4 python t.py"], (2,), None),
    ],
)
def test_a_job_starts(commands: list[str], counts: tuple[int, ...], started: int | None):
    found = world(*commands, counts=counts)
    assert (found.started, found.copies, found.never) == (started, 1, "")
    assert found.because


def test_one_process_with_one_gpu_is_a_world_of_one():
    assert world("python t.py", gpus=1).started == 1


@pytest.mark.parametrize(
    "text",
    [
        "horovodrun -np 4 python t.py",
        "mpirun python t.py",
        "torchrun --nproc_per_node=gpu t.py",
        "accelerate launch --num_processes 4 t.py",
        "deepspeed t.py",
    ],
)
def test_copies_that_close_their_world_know_nothing_of_each_other(text: str):
    found = world(text, counts=(3,))
    assert found.copies == 3
    assert "3 jobs of" in found.because


@pytest.mark.parametrize(
    ("commands", "counts", "why"),
    [
        ([MEET], (1,), "2 hosts are waited for, and 1"),
        ([MEET], (4,), "2 hosts are waited for, and 4"),
        ([MEET.replace("=2", "=2:3")], (1,), "2 to 3 hosts are waited for, and 1"),
        ([MEET.replace("=2", "=2:3")], (4,), "2 to 3 hosts are waited for, and 4"),
        ([FIRST], (2,), "number 0"),
        ([of_three(MEET), of_three(FIRST), of_three(FIRST)], (1, 1, 1), "number 0"),
        ([FIRST, FIRST], (1, 1), "number 0"),
        (["torchrun --nnodes=2 t.py"], (2,), "waits for itself"),
    ],
)
def test_a_world_that_never_comes_together_says_why(
    commands: list[str], counts: tuple[int, ...], why: str
):
    found = world(*commands, counts=counts)
    assert why in found.never
    assert found.started is None


FOUR, TWO = "horovodrun -np 4 python t.py", "horovodrun -np 2 python t.py"


@pytest.mark.parametrize(
    ("commands", "counts", "started", "because"),
    [
        ([FOUR], (1,), 4, "horovodrun -np 4 on one host"),
        (
            [FOUR, TWO],
            (1, 1),
            None,
            (
                "horovodrun -np 4 on each of 2 hosts: 2 jobs of its own ranks that know nothing of "
                "each other"
            ),
        ),
        (["mpirun python t.py"], (1,), None, "mpirun: how many ranks is known only when it runs"),
        ([FOUR], (0,), None, "nothing in it starts ranks"),
        ([FOUR, TWO], (0, 1), 2, "horovodrun -np 2 on one host"),
        (["python a.py", TWO], (0, 1), 2, "horovodrun -np 2 on one host"),
        (["/usr/sbin/sshd -D"], (2,), None, "nothing in it starts ranks"),
        ([FOUR, "python t.py"], (1, 1), None, "its hosts start different things"),
        (
            ["python a.py", "python b.py"],
            (1, 2),
            None,
            "python a.py on each of 3 hosts: only the script says what joins them",
        ),
        ([MEET], (2,), 8, "torchrun over 2 hosts x 4 processes"),
        ([FIRST, SECOND.replace("node=4", "node=2")], (1, 1), 6, "torchrun over 2 hosts"),
        ([MEET, of_three(MEET)], (1, 1), None, "its hosts are given different host counts"),
        ([of_three(MEET), MEET], (1, 1), None, "its hosts are given different host counts"),
        (
            [MEET.replace("=2", "=1:2")],
            (2,),
            None,
            "torchrun --nnodes=1:2 --nproc_per_node=4 begins with 1 to 2 hosts x 4 processes",
        ),
    ],
)
def test_what_hosts_start_together_is_said_with_its_reason(
    commands: list[str], counts: tuple[int, ...], started: int | None, because: str
):
    found = world(*commands, counts=counts)
    assert (found.started, found.because) == (started, because)


@pytest.mark.parametrize("gpus", [2, 3])
def test_one_process_with_several_gpus_may_use_them_as_its_script_says(gpus: int):
    found = world("python t.py", gpus=gpus)
    assert found.started is None
    assert f"one process with {gpus} GPUs" in found.because


@pytest.mark.parametrize(
    ("commands", "counts", "spans"),
    [
        ([FOUR], (1,), False),
        ([MEET], (2,), True),
        (["mpirun -np 8 -H a:4,b:4 python t.py"], (1,), True),
    ],
)
def test_a_world_over_several_hosts_is_known_as_one(
    commands: list[str], counts: tuple[int, ...], spans: bool
):
    assert world(*commands, counts=counts).spans is spans
