"""The agent as the entry point of a training job's containers: what it finds below /opt/ml, and
what it leaves there."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from launch_runtime import stamps
from launch_runtime.environment import SettingError
from launch_runtime.host.sagemaker import entry_scripts
from launch_runtime.host.sagemaker.tree import Tree

from tests.entrypoints.sagemaker_hosts import (
    NAMES,
    NONCE,
    TrainingJob,
    training_jobs,
)
from tests.entrypoints.simulated import HVD
from tests.entrypoints.strategies import torch_ranks

MakeJob = Callable[..., TrainingJob]

INIT = HVD + "import json, os, signal, sys, time\nhvd.init()\nrank = hvd.rank()\n"
TELL = INIT + "print('told', json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]))\n"


@pytest.fixture
def make_job(tmp_path: Path) -> Iterator[MakeJob]:
    yield from training_jobs(tmp_path)


def test_a_job_is_proven_and_its_script_is_told_what_it_expects(make_job: MakeJob) -> None:
    job = make_job(hosts=2, processes=2)
    job.script(TELL)
    arguments = ["--lr", "1.10", "--flag", "-v", "-v", "a b"]
    assert job.run(*arguments) == [0, 0], job.text()
    assert job.said(r"proof: world size 4: 2 hosts x 2 ranks, Gloo")
    assert not job.failures()
    told = {line.partition("] ")[0]: line for line in job.said("told")}
    assert sorted(told) == [f"[{NAMES[0]}/0", f"[{NAMES[0]}/1", f"[{NAMES[1]}/2", f"[{NAMES[1]}/3"]
    found, folder, environment = json.loads(told[f"[{NAMES[1]}/2"].partition("told ")[2])
    tree = job.tree(1)
    assert found == arguments
    assert environment["SM_MODULE_DIR"] == folder
    expected = {
        "SM_HOSTS": json.dumps(list(NAMES), separators=(",", ":")),
        "SM_CURRENT_HOST": NAMES[1],
        "SM_NUM_GPUS": "0",
        "SM_MODEL_DIR": f"{tree}/model",
        "SM_OUTPUT_DATA_DIR": f"{tree}/output/data",
        "SM_CHANNEL_TRAIN": f"{tree}/input/data/train",
        "SM_CHANNELS": '["code","train"]',
        "SM_HPS": '{"epochs":3}',
        "SM_HP_EPOCHS": "3",
        "SM_NETWORK_INTERFACE_NAME": "lo",
    }
    assert {name: environment.get(name) for name in expected} == expected
    assert json.loads(environment["SM_USER_ARGS"]) == arguments
    assert stamps.NONCE not in environment
    assert [job.failure_file(index) for index in (0, 1)] == ["", ""]


DDP = """
import os, sys, torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    optimizer.zero_grad()
    model(torch.rand(8, 4)).sum().backward()
    optimizer.step()
if rank == int(os.environ.get("FAILS", "-1")):
    raise ValueError("no such column: price")
torch.save(model.state_dict(), f"{os.environ['SM_MODEL_DIR']}/{rank}.pt")
dist.destroy_process_group()
"""


def test_ranks_of_pytorch_train_together_and_that_is_proven(make_job: MakeJob) -> None:
    torch_ranks.need_torch()
    job = make_job(hosts=2, processes=2, LAUNCH_STRATEGY="torch")
    job.script(DDP)
    job.use_python(str(torch_ranks.PYTHON))
    assert job.run() == [0, 0], job.text()
    proof = "world size 4: 2 hosts x 2 ranks, Gloo"
    told = f"[{NAMES[0]}/0] launch: proof: {proof}; gradients exchanged, weights equal"
    assert [line for line in job.said("proof") if told in line], job.text()
    kept = [sorted(path.name for path in (job.tree(n) / "model").iterdir()) for n in (0, 1)]
    assert kept == [["0.pt", "1.pt"], ["2.pt", "3.pt"]]


def test_a_rank_of_pytorch_that_fails_is_told_and_not_the_peer_that_lost_it(
    make_job: MakeJob,
) -> None:
    torch_ranks.need_torch()
    job = make_job(hosts=2, LAUNCH_STRATEGY="torch", FAILS="1")
    job.script(DDP)
    job.use_python(str(torch_ranks.PYTHON))
    assert job.run() == [1, 1], job.text()
    told = f"the job ends because of rank 1 on {NAMES[1]}: ValueError: no such column: price"
    assert [job.failure_file(index) for index in (0, 1)] == [told, told]


def test_a_failed_job_tells_the_service_who_failed_first_and_why(make_job: MakeJob) -> None:
    job = make_job(hosts=2)
    job.script(INIT + "if rank == 1: raise ValueError('no such column: price')\ntime.sleep(1000)\n")
    assert job.run() == [1, 1], job.text()
    told = f"the job ends because of rank 1 on {NAMES[1]}: ValueError: no such column: price"
    assert [job.failure_file(index) for index in (0, 1)] == [told, told]
    assert job.failure()["stamp"] == stamps.of(NONCE)


def test_sigterm_reaches_the_ranks_and_is_no_failure(make_job: MakeJob) -> None:
    job = make_job(hosts=2)
    job.script(
        INIT
        + "def save(*_):\n"
        + "    print('saved', rank, flush=True)\n    sys.exit(0)\n"
        + "signal.signal(signal.SIGTERM, save)\n"
        + "print('training', flush=True)\ntime.sleep(1000)\n"
    )
    job.start_all()
    job.until_said("training", count=2)
    for agent in job.agents.values():
        agent.send_signal(signal.SIGTERM)
    assert job.wait() == [143, 143]
    assert len(job.said("saved")) == 2
    assert [job.failure_file(index) for index in (0, 1)] == ["", ""]


def test_the_code_is_unpacked_only_where_its_hash_is_right(make_job: MakeJob) -> None:
    job = make_job(hosts=1)
    job.script("print('trained')")
    job.sha256 = "0" * 64
    assert job.run() == [2]
    assert "the code cannot be unpacked" in job.failure_file(0)
    assert "expected 000" in job.failure()["reason"]
    assert (job.failure()["host"], job.failure()["stamp"]) == (NAMES[0], stamps.of(NONCE))
    assert not job.said("trained")


def test_an_image_without_a_python_that_serves_is_said(make_job: MakeJob) -> None:
    job = make_job(hosts=1)
    job.script("print('trained')")
    for name in ("python", "python3"):
        job.use_python("/bin/false", name)
    assert job.run() == [2]
    assert job.failure_file(0) == "no Python 3.8 or later in this image (python, python3)\n"
    assert job.failure()["reason"] == "no Python 3.8 or later in this image"


def test_python3_serves_where_python_is_too_old(make_job: MakeJob) -> None:
    job = make_job(hosts=1)
    job.script("print('trained')")
    job.use_python("/bin/false", "python")
    job.use_python(sys.executable, "python3")
    assert job.run() == [0], job.text()
    assert job.said("trained")


# -- what is read, and what is run before ----------------------------------------------------------


def test_what_the_image_would_have_run_counts_for_the_ranks(tmp_path: Path) -> None:
    script = tmp_path / "start_cuda_compat.sh"
    script.write_text('echo talk\nexport LD_LIBRARY_PATH="/compat:$LD_LIBRARY_PATH"\n')
    said: list[str] = []
    given = {"LD_LIBRARY_PATH": "/lib", "PATH": "/usr/bin:/bin"}
    assert entry_scripts.run(given, said.append, str(tmp_path)) == {
        "LD_LIBRARY_PATH": "/compat:/lib"
    }
    assert said == [f"{script} of this image: LD_LIBRARY_PATH=/compat:/lib"]


@pytest.mark.parametrize(
    ("text", "told"), [("echo all well", ""), ("exit 3", "ended with code 3"), (None, "")]
)
def test_a_script_that_fails_changes_nothing_and_is_said(
    text: str | None, told: str, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / "start_cuda_compat.sh").write_text(text)
    said: list[str] = []
    assert entry_scripts.run({"PATH": "/usr/bin:/bin"}, said.append, str(tmp_path)) == {}
    assert [told in line for line in said] == ([True] if told else [])


BROKEN = {
    "no file": ({}, "resourceconfig.json: not there"),
    "no host of its own": (
        {"resourceconfig": {"hosts": ["algo-1"], "current_host": "algo-2"}},
        "found hosts ['algo-1'] and current_host 'algo-2'",
    ),
    "no list": ({"resourceconfig": []}, "expected a JSON object"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_tree_that_is_not_the_services_is_refused_by_its_path(name: str, tmp_path: Path) -> None:
    files, told = BROKEN[name]
    folder = tmp_path / "input" / "config"
    folder.mkdir(parents=True)
    (folder / "hyperparameters.json").write_text("{}")
    for file, content in files.items():
        (folder / f"{file}.json").write_text(json.dumps(content))
    with pytest.raises(SettingError) as refused:
        Tree(str(tmp_path))
    assert told in str(refused.value)


WORDS = {
    "a script": ({"script": '"a.py"', "args": '["--x", "1"]'}, ["a.py", "--x", "1"]),
    "a module": ({"module": '"pkg.train"', "args": "[]"}, ["-m", "pkg.train"]),
    "nothing": ({}, None),
    "arguments that are no list": ({"script": '"a.py"', "args": '"--x"'}, None),
}


@pytest.mark.parametrize("name", WORDS)
def test_what_runs_stands_in_the_hyperparameters(name: str, tmp_path: Path) -> None:
    values, expected = WORDS[name]
    folder = tmp_path / "input" / "config"
    folder.mkdir(parents=True)
    resources = {"hosts": ["algo-2", "algo-10"], "current_host": "algo-2"}
    (folder / "resourceconfig.json").write_text(json.dumps(resources))
    named = {f"sagemaker_launch_{key}": value for key, value in values.items()}
    (folder / "hyperparameters.json").write_text(json.dumps(named))
    tree = Tree(str(tmp_path))
    if expected is None:
        with pytest.raises(SettingError):
            tree.words()
    else:
        assert tree.words() == expected
    cluster = tree.cluster()
    assert [host.name for host in cluster.hosts] == ["algo-10", "algo-2"]
    assert (cluster.position, cluster.managed) == (1, True)
