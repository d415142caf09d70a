"""One training, started in each of the ways that are compared; what it leaves is a metrics.json.

Its history has the images a second of each epoch, which the progress lines round to whole images.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.measure import median, quiet_environment
from tests.places import ENTRYPOINTS, ROOT

SCRIPT = "train_image_classifier.py"


@dataclass(frozen=True)
class Job:
    """A command, and the folder below which it writes its metrics.json."""

    words: Sequence[str]
    environment: Mapping[str, str]
    folder: Path


def launched(folder: Path, ranks: int, arguments: Sequence[str], flags: Sequence[str] = ()) -> Job:
    """The shared script through `launch local`, a host a rank."""
    words = [sys.executable, "-m", "launchers.cli.main", "local", str(ENTRYPOINTS / SCRIPT)]
    words += ["--no-file", "--no-defaults", "--instances", str(ranks), "--json"]
    words += ["--output-path", str(folder), *flags, "--", *arguments]
    environment = quiet_environment(LAUNCH_HOME=str(folder), PYTHONPATH=str(ROOT))
    return Job(words, environment, folder)


def by_horovodrun(folder: Path, ranks: int, arguments: Sequence[str]) -> Job:
    """The shared script by horovodrun over Gloo."""
    horovodrun = shutil.which("horovodrun", path=os.path.dirname(sys.executable))
    assert horovodrun, "horovodrun is not beside this Python"
    words = [horovodrun, *gloo(ranks), sys.executable, SCRIPT, *arguments]
    return Job(words, bare_environment(folder), folder)


def by_mpirun(folder: Path, ranks: int, arguments: Sequence[str]) -> Job:
    """The shared script by Open MPI, which speaks for Horovod, too."""
    words = ["mpirun", *mpi(ranks), sys.executable, SCRIPT, *arguments]
    return Job(words, bare_environment(folder), folder)


def in_image(
    image: str,
    starter: Sequence[str],
    folder: Path,
    arguments: Sequence[str],
    data: Path,
    cores: Sequence[int],
) -> Job:
    """The shared script in a container, on these cores, as this user.

    Args:
        image: Has Python, Horovod and what starts the ranks.
        starter: The command that starts them.
        folder: Where it writes.
        arguments: Of the script.
        data: What the arguments name.
        cores: Of this machine.
    """
    words = ["docker", "run", "--rm", "--init", "--shm-size", "1g", "--workdir", str(ENTRYPOINTS)]
    words += ["--cpuset-cpus", ",".join(map(str, cores)), "--user", f"{os.getuid()}:{os.getgid()}"]
    for place, mode in ((ENTRYPOINTS, "ro"), (data, "ro"), (folder, "rw")):
        words += ["--volume", f"{place}:{place}:{mode}"]
    for name, value in {"HOME": str(folder), **_settings(folder)}.items():
        words += ["--env", f"{name}={value}"]
    words += ["--entrypoint", starter[0], image, *starter[1:], "python", SCRIPT, *arguments]
    return Job(words, dict(os.environ), folder)


def alone(folder: Path, arguments: Sequence[str]) -> Job:
    """The shared script as one process, without the launcher."""
    return Job([sys.executable, SCRIPT, *arguments], bare_environment(folder), folder)


def gloo(ranks: int) -> list[str]:
    """horovodrun's flags."""
    return ["--gloo", "-np", str(ranks), "-H", f"localhost:{ranks}"]


def mpi(ranks: int) -> list[str]:
    """mpirun's flags; ranks are bound to no core, as under Gloo."""
    words = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", str(ranks)]
    for name in ("HOROVOD_CONTROLLER", "HOROVOD_CPU_OPERATIONS"):
        words += ["-x", f"{name}=mpi"]
    return words


def bare_environment(folder: Path) -> dict[str, str]:
    """Of a training that the launcher does not start."""
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    return quiet_environment(**_settings(folder), CUDA_VISIBLE_DEVICES="", PATH=path)


def _settings(folder: Path) -> dict[str, str]:
    return {
        "LAUNCH_MODEL_DIR": str(folder),
        "LAUNCH_CHECKPOINT_DIR": str(folder / "checkpoints"),
        "PYTHONUNBUFFERED": "1",
        "TF_USE_LEGACY_KERAS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "2",
    }


def on_cores(job: Job, cores: Sequence[int]) -> Job:
    """The same job, with all its processes on these cores."""
    pinned = ["taskset", "--cpu-list", ",".join(map(str, cores)), *job.words]
    return Job(pinned, job.environment, job.folder)


def metrics_of(*jobs: Job) -> list[dict[str, Any]]:
    """What each job wrote. They run at the same time; blocks until all have ended.

    Raises:
        RuntimeError: One did not exit with 0; its last lines are in the message.
    """
    with ExitStack() as stack:
        started = []
        for job in jobs:
            job.folder.mkdir(parents=True, exist_ok=True)
            log = stack.enter_context((job.folder / "log").open("w"))
            process = subprocess.Popen(
                job.words,
                cwd=ENTRYPOINTS,
                env=dict(job.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
            started.append(process)
        for job, process in zip(jobs, started, strict=True):
            if process.wait():
                last = (job.folder / "log").read_text()[-2000:]
                raise RuntimeError(f"{' '.join(job.words)}: exit {process.returncode}\n{last}")
    return [json.loads(_metrics(job.folder).read_text()) for job in jobs]


def _metrics(folder: Path) -> Path:
    (found,) = folder.rglob("metrics.json")
    return found


def steady(metrics: Mapping[str, Any]) -> float:
    """Images a second of the epochs after the first, their median.

    Raises:
        ValueError: There is one epoch alone.
    """
    rates = [float(epoch["images_per_second"]) for epoch in metrics["history"][1:]]
    if not rates:
        raise ValueError("the history has one epoch; expected two or more: the first warms up")
    return median(rates)
