"""Jobs of spark_driver.py by a hand-made line of spark-submit, on a real cluster."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launchers.core.model.jobs import LogLine
from launchers.core.output.lines import JobWatch, parse_tagged
from launchers.core.records import nonce
from launchers.core.spark import keys
from launchers.core.spark.conf import Executors, conf_for
from tests.places import ENTRYPOINTS
from tests.spark import cluster as clusters

NONCE = "0123456789abcdef0123456789abcdef"
STAMP = nonce.stamp_of(NONCE)
SHIPPED = ("agent.py", "guard.py", "spark_driver.py", "launch_runtime")


@dataclass
class Job:
    """One job that runs, or has run.

    Attributes:
        folder: Its own: ``code/``, ``code.tar.gz``, ``output``, ``log`` and ``result.json``.
        process: spark-submit's.
    """

    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def output(self) -> str:
        """The driver's standard output so far."""
        return (self.folder / "output").read_text()

    @property
    def log(self) -> str:
        """What Spark has logged so far."""
        return (self.folder / "log").read_text(errors="replace")

    @property
    def lines(self) -> list[LogLine]:
        """The output's lines, as a launcher reads them."""
        return [parse_tagged(line) for line in self.output.splitlines()]

    @property
    def watch(self) -> JobWatch:
        """What a launcher has understood of them."""
        watch = JobWatch(STAMP, world_size=2)
        for line in self.lines:
            watch.see(line)
        return watch

    @property
    def result(self) -> dict[str, Any]:
        """The result file."""
        found: dict[str, Any] = json.loads((self.folder / "result.json").read_text())
        return found

    def texts(self, rank: int | None) -> list[str]:
        """The lines of a rank; of None, the driver's own."""
        return [line.text for line in self.lines if line.rank == rank]

    def says(self, text: str) -> bool:
        """Whether a line of the output holds ``text``."""
        assert self.process.poll() is None or text in self.output, self.all()
        return text in self.output

    def await_end(self) -> int:
        """Blocks until spark-submit has ended; its exit code."""
        try:
            return self.process.wait(clusters.SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(self.all()) from None

    def all(self) -> str:
        """What there is to see of a job that went otherwise than it should."""
        return f"{self.output}\n{self.log[-6000:]}"


def stage(folder: Path, script: str, files: Mapping[str, str] | None = None) -> None:
    """Lays a job's bundle out, as the launcher does: ``code/`` and ``code.tar.gz``."""
    code = folder / "code"
    (code / "src").mkdir(parents=True)
    for name in SHIPPED:
        copy = shutil.copytree if (ENTRYPOINTS / name).is_dir() else shutil.copy
        copy(ENTRYPOINTS / name, code / name)
    for name, text in {"train.py": script, **(files or {})}.items():
        (code / "src" / name).write_text(text)
    with tarfile.open(folder / "code.tar.gz", "w:gz") as archive:
        for entry in sorted(code.iterdir()):
            archive.add(entry, entry.name)


def rank_environment(instances: int, processes: int) -> dict[str, str]:
    """What a job's document tells its ranks."""
    return {
        "LAUNCH_JOB": "train-12345678-1",
        "LAUNCH_WORLD_SIZE": str(instances * processes),
        "LAUNCH_INSTANCES": str(instances),
        "LAUNCH_PROCESSES": str(processes),
        "LAUNCH_PIN_GPU": "none",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "HOROVOD_LOG_LEVEL": "fatal",
    }


def conf_of(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The configuration that a job's document holds."""
    instances, processes = (int(environment[f"LAUNCH_{n}"]) for n in ("INSTANCES", "PROCESSES"))
    barrier = environment.get("LAUNCH_STRATEGY") == "torch"
    return conf_for(
        Executors(instances, processes, barrier=barrier),
        "standalone",
        given={"spark.archives": f"{folder}/code.tar.gz#launch_code"},
        environment=environment,
        settings={
            keys.SLOTS_SECONDS: "3600",  # longer than any test waits
            keys.START_SECONDS: "120",
            keys.RESULT: f"{folder}/result.json",
        },
        python=sys.executable,
    )


@contextmanager
def running(
    folder: Path,
    master: str,
    script: str,
    *,
    arguments: Sequence[str] = (),
    instances: int = 2,
    processes: int = 1,
    environment: Mapping[str, str] | None = None,
    conf: Mapping[str, str] | None = None,
) -> Iterator[Job]:
    """A job whose driver runs; it is killed with the block."""
    folder.mkdir(parents=True, exist_ok=True)
    stage(folder, script)
    told = {**rank_environment(instances, processes), **(environment or {})}
    command = clusters.submit_command(
        master,
        {**conf_of(folder, told), **(conf or {})},
        str(folder / "code" / "spark_driver.py"),
        "train.py",
        *arguments,
    )
    with open(folder / "output", "wb") as output, open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=log,
            cwd=folder,
            env=clusters.environment({"LAUNCH_NONCE": NONCE}),
            start_new_session=True,
        )
    try:
        yield Job(folder, process)
    finally:
        for_all(process, signal.SIGKILL)
        process.wait()


def for_all(process: subprocess.Popen[bytes], number: int) -> None:
    """Signals spark-submit and its driver, as a terminal does."""
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return
