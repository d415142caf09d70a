"""`--source` shows what a program that runs alone on each host does there."""

from __future__ import annotations

import json

import pytest

from tests.cli.command import Launch
from tests.sagemaker.starts.test_starts import MPI, PYTORCH, STARTS, request

ALONE = "import torch\n"
SPAWNS = "import torch.multiprocessing as mp\nmp.spawn(main, nprocs=4)\n"
JOINS = "import json, os\nhosts = json.loads(os.environ['SM_HOSTS'])\n"


@pytest.mark.parametrize(
    ("name", "script", "size", "code", "part"),
    [
        ("nothing, four GPUs", ALONE, 1, 0, "nothing in its source starts more"),
        ("nothing, four GPUs", SPAWNS, None, 0, "train.py:1 uses multiprocessing"),
        ("nothing on several hosts", ALONE, 1, 2, "runs train.py by itself"),
        ("nothing on several hosts", JOINS, None, 0, "train.py:2 uses SM_HOSTS"),
        ("MPI", SPAWNS, 8, 0, "MPI over 2 hosts x 4 processes"),
    ],
)
def test_what_a_program_alone_starts_is_what_its_source_shows(
    launch: Launch, name: str, script: str, size: int | None, code: int, part: str
):
    launch.write("job.json", json.dumps(STARTS[name][0]))
    launch.write("src/train.py", script)
    answer = launch("check", "job.json", "--source", "src", "--json")
    assert answer.code == code, answer.err
    (document,) = answer.json.get("documents", [answer.json])
    assert document["world_size"] == size
    assert part in document["because"]


def test_a_size_that_was_meant_cannot_be_told_where_the_program_starts_ranks(launch: Launch):
    launch.write("job.json", json.dumps(STARTS["nothing, four GPUs"][0]))
    launch.write("src/train.py", SPAWNS)
    words = ("check", "job.json", "--world-size", "4")
    assert launch(*words).code == 2
    assert launch(*words, "--source", "src").code == 0
    assert launch(*words, "--source", "src", "--strict").code == 2


def test_a_source_without_the_program_is_told(launch: Launch):
    launch.write("job.json", json.dumps(STARTS["nothing, four GPUs"][0]))
    launch.write("src/other.py", ALONE)
    answer = launch("check", "job.json", "--source", "src")
    told = " ".join(answer.err.split())
    assert "no train.py, which the document runs" in told
    assert "[source-of-document]" in told


DISTRIBUTED = "import torch.distributed as dist\ndist.init_process_group('nccl')\n"
HOROVOD = "import horovod.torch as hvd\nhvd.init()\n"


@pytest.mark.parametrize(
    ("script", "words", "warned"),
    [
        (DISTRIBUTED, (), True),
        (DISTRIBUTED, ("--strategy", "torch"), False),
        (DISTRIBUTED, ("--strategy", "horovod"), True),
        (DISTRIBUTED, ("--source", "src"), False),
        (HOROVOD, ("--source", "src"), True),
    ],
)
def test_mpi_without_horovod_is_warned_of_unless_the_ranks_need_none(
    launch: Launch, script: str, words: tuple[str, ...], warned: bool
):
    launch.write("job.json", json.dumps(request(PYTORCH, MPI)))
    launch.write("src/train.py", script)
    answer = launch("check", "job.json", *words)
    assert answer.code == 0, answer.err
    assert ("[image-horovod]" in answer.err) is warned
