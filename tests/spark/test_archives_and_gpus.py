"""Ranks in an environment from an archive, with GPUs that a script makes up, on a real cluster:
Horovod's, and torch's by TorchDistributor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.entrypoints.strategies.torch_ranks import need_torch
from tests.spark import archives, driven
from tests.spark import cluster as clusters
from tests.spark.cluster import SECONDS, Cluster
from tests.spark.driven import Job
from tests.spark.workers import with_gpu
from tests.waiting import processes_with, until

# Each waits for jobs that take seconds, and many times that on a loaded machine.
pytestmark = [pytest.mark.processes, pytest.mark.horovod, pytest.mark.timeout(3 * SECONDS)]

PYTHON = "./environment/bin/python"
DEBIANS = Path("/usr/lib/python3/dist-packages")
# The torchrun of PyTorch 1.13 finds no flag of value 0 or 3 where Python is 3.11 or newer.
TORCH = {"LAUNCH_STRATEGY": "torch", "PET_REDIRECTS": "2", "PET_TEE": "2"}
START = """\
import os, sys, time, warnings
warnings.simplefilter("ignore")
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
print("device", os.environ.get("CUDA_VISIBLE_DEVICES"), "python", sys.executable, flush=True)
"""
TRAIN = (
    START
    + """\
model = DistributedDataParallel(torch.nn.Linear(2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.ones(4, 2) * (rank + 1)).sum().backward()
    optimizer.step()
dist.destroy_process_group()
print("trained", flush=True)
"""
)
WAIT = START + 'print("ready", flush=True)\ntime.sleep(3600)\n'
HOROVOD = """\
import os, sys
import tensorflow as tf
import horovod.tensorflow as hvd
hvd.init()
print("device", os.environ.get("CUDA_VISIBLE_DEVICES"), "python", sys.executable, flush=True)
w = tf.Variable([1.0, 2.0])
for step in range(3):
    tape = hvd.DistributedGradientTape(tf.GradientTape())
    with tape:
        loss = tf.reduce_sum(w * w) * (hvd.rank() + 1)
    w.assign_sub(0.1 * tape.gradient(loss, [w])[0])
"""


def python_has_debians_torch(folder: Path) -> bool:
    """Whether this Python can use the PyTorch that Debian has for its own, by links in a folder."""
    for name in ("torch", "torchgen", *(path.name for path in DEBIANS.glob("torch-*.egg-info"))):
        (folder / name).symlink_to(DEBIANS / name)
    trial = "import torch.distributed.run, torch.nn.parallel"
    command = [sys.executable, "-W", "ignore", "-c", trial]
    variables = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(command, env=variables, capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def torch_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_torch()
    folder = tmp_path_factory.mktemp("torch")
    if not python_has_debians_torch(folder):
        pytest.skip(f"Debian's PyTorch is of another Python than {sys.version.split()[0]}")
    return folder


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers of one core and one made-up GPU each."""
    folder = tmp_path_factory.mktemp("workers")
    with clusters.running(folder / "cluster", workers=0) as found:
        for address in (3, 4):
            found.add_worker(wait=False, conf=with_gpu(folder, address))
        yield found


@contextmanager
def running(
    tmp_path: Path, cluster: Cluster, packages: Sequence[Path], script: str, **environment: str
) -> Iterator[Job]:
    """A job in an environment from an archive, with a GPU a rank; none of its processes is left."""
    archive = archives.environment(tmp_path / "env.tgz", packages)
    bundle = tmp_path / "job" / "code.tar.gz"
    conf: Mapping[str, str] = {
        "spark.archives": f"{bundle}#launch_code,{archive}#environment",
        "spark.pyspark.python": PYTHON,
        "spark.launch.executable": PYTHON,
        "spark.pyspark.driver.python": sys.executable,
        "spark.executor.resource.gpu.amount": "1",
        "spark.task.resource.gpu.amount": "1",
        "spark.launch.gpus": "1",
    }
    mark = str(tmp_path / "mark")
    told = {"MARK": mark, **environment}
    with driven.running(tmp_path / "job", cluster.url, script, environment=told, conf=conf) as job:
        yield job
    until(lambda: not processes_with(mark), "every process of the job gone", SECONDS)


def proven_ranks(job: Job) -> list[str]:
    """Asserts that both ranks are proven, in the archive's Python; the device of each."""
    assert job.await_end() == 0, job.all()
    assert job.watch.proof.startswith("world size 2: 2 hosts x 1 rank, Gloo"), job.all()
    assert job.result["state"] == "succeeded"
    assert [one["rank"] for one in job.result["ranks"]] == [0, 1]
    devices = []
    for rank in (0, 1):
        (told,) = (text.split() for text in job.texts(rank) if text.startswith("device "))
        devices.append(told[1])
        assert told[3].endswith("/environment/bin/python")
    return devices


def failed(job: Job, rank: int, reason: str) -> None:
    """Asserts that output, exit code and result file say so of a job."""
    assert job.await_end() == 1, job.all()
    told = job.watch.failure
    assert told is not None, job.all()
    assert (told["rank"], reason in told["reason"]) == (rank, True), told
    assert job.result["failed_rank"] == rank
    assert job.output.count("launch: failure: ") == 1


def test_horovods_ranks_have_the_archives_python_and_a_gpu_each(
    tmp_path: Path, cluster: Cluster
) -> None:
    with running(tmp_path, cluster, [], HOROVOD, LAUNCH_PIN_GPU="guard") as job:
        assert sorted(proven_ranks(job)) == ["3", "4"]
        assert job.result["versions"]["horovod"] == version("horovod")


def test_ranks_of_a_barrier_stage_are_proven_and_the_job_ends(
    tmp_path: Path, cluster: Cluster, torch_packages: Path
) -> None:
    told = {**TORCH, "LAUNCH_PIN_GPU": "guard"}
    with running(tmp_path, cluster, [torch_packages], TRAIN, **told) as job:
        assert sorted(proven_ranks(job)) == ["3", "4"]
        assert job.result["versions"]["torch"]
        assert all("trained" in job.texts(rank) for rank in (0, 1))


def test_a_barrier_stage_whose_executor_is_killed_fails_and_is_not_tried_again(
    tmp_path: Path, cluster: Cluster, torch_packages: Path
) -> None:
    with running(tmp_path, cluster, [torch_packages], WAIT, **TORCH) as job:
        until(lambda: job.says("] ready") and job.output.count("] ready") == 2, "both", SECONDS)
        number, process = next(iter(cluster.executors().items()))
        rank = next(one.rank for one in job.lines if one.host.endswith(f".executor-{number}"))
        os.kill(process, signal.SIGKILL)
        failed(job, rank, f"lost executor {number}")
        assert job.output.count("] ready") == 2
