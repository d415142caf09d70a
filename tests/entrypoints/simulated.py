"""Agents, guards and their processes on this machine, for tests."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.places import ENTRYPOINTS
from tests.waiting import SECONDS, processes_with, until

STANDIN = Path(__file__).parent / "standin"

# The stand-in's framework, for scripts that need a Horovod and no training.
HVD = "import horovod.anyframework as hvd\n"

# What a careless script does to its environment.
WIPE_HOROVOD = """
import os
for name in [name for name in os.environ if name.startswith("HOROVOD")]:
    del os.environ[name]
"""

_OURS = ("LAUNCH_", "HOROVOD_", "OMPI_", "SM_", "CUDA_", "TF_CONFIG", "PYTHON", "CLUSTER_SPEC")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def write_script(folder: Path, text: str, name: str = "train.py") -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return name


def clean_environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return {**kept, "PYTHONPATH": str(STANDIN), "PYTHONDONTWRITEBYTECODE": "1"}


def entrypoints_with_standin(folder: Path, **changed: str) -> Path:
    """A copy of the entrypoints in which a script says what the collector of evidence has seen.

    Args:
        folder: Where it goes.
        changed: Constants of rank/training_watch.py, with another value.
    """
    target = folder / "entrypoints"
    shutil.copytree(
        ENTRYPOINTS, target, ignore=shutil.ignore_patterns("__pycache__", "lib", "train_*.py", ".*")
    )
    shutil.copy(STANDIN / "exchange" / "collector.py", target / "launch_runtime/rank/exchange")
    watch = target / "launch_runtime/rank/training_watch.py"
    text = watch.read_text()
    for name, value in changed.items():
        text, count = re.subn(rf"^{name} = .*$", f"{name} = {value}", text, flags=re.MULTILINE)
        assert count == 1, name
    watch.write_text(text)
    return target


class SimulatedJob:
    """Hosts of one job, each an agent of its own, on the loopback interface."""

    def __init__(self, folder: Path, hosts: int = 2, processes: int = 1, **environment: str):
        self.name = f"job-{uuid.uuid4().hex[:8]}"
        self.folder, self.hosts, self.processes = folder, hosts, processes
        self.source = folder / "source"
        self.source.mkdir(exist_ok=True)
        self.port = free_port()
        self.environment = environment
        self.python = sys.executable
        self.entrypoints = ENTRYPOINTS
        self.before: Callable[[int], list[str]] = lambda index: []  # a command before an agent's
        self.agents: dict[int, subprocess.Popen[bytes]] = {}
        self._files: list[Any] = []

    def script(self, text: str, name: str = "train.py") -> str:
        return write_script(self.source, text, name)

    def cluster(self, index: int) -> str:
        hosts = [{"name": f"host-{n + 1}", "address": "127.0.0.1"} for n in range(self.hosts)]
        return json.dumps({"hosts": hosts, "index": index, "port": self.port})

    def agent_environment(self, index: int) -> dict[str, str]:
        return {
            **clean_environment(),
            "LAUNCH_JOB": self.name,
            "LAUNCH_WORLD_SIZE": str(self.hosts * self.processes),
            "LAUNCH_INSTANCES": str(self.hosts),
            "LAUNCH_PROCESSES": str(self.processes),
            "LAUNCH_CLUSTER": self.cluster(index),
            "LAUNCH_SOURCE_DIR": str(self.source),
            "LAUNCH_JOIN_TIMEOUT": "60",
            **self.environment,
        }

    def start(
        self, index: int, *arguments: str, script: str = "train.py", **environment: str
    ) -> subprocess.Popen[bytes]:
        """Starts one host's agent. An environment value of "" takes the variable out."""
        command = [self.python, str(self.entrypoints / "agent.py"), script, *arguments]
        merged = {**self.agent_environment(index), **environment}
        return self._start(index, [*self.before(index), *command], merged)

    def _start(
        self, index: int, command: Sequence[str], environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        """Starts what one host runs; a variable whose value is "" is not set."""
        output = (self.folder / f"agent-{index}.log").open("ab")
        self._files.append(output)
        agent = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={name: value for name, value in environment.items() if value != ""},
            cwd=self.folder,
            start_new_session=True,
        )
        self.agents[index] = agent
        return agent

    def start_all(self, *arguments: str, script: str = "train.py", **environment: str) -> None:
        for index in range(self.hosts):
            self.start(index, *arguments, script=script, **environment)

    def run(self, *arguments: str, seconds: float = SECONDS, **environment: str) -> list[int]:
        """Starts all hosts and gives their exit codes."""
        self.start_all(*arguments, **environment)
        return self.wait(seconds)

    def wait(self, seconds: float = SECONDS) -> list[int]:
        deadline = time.monotonic() + seconds
        try:
            return [
                agent.wait(max(0.1, deadline - time.monotonic()))
                for _, agent in sorted(self.agents.items())
            ]
        except subprocess.TimeoutExpired:
            raise AssertionError(f"agents still run after {seconds} s:\n{self.text()}") from None

    def text(self, index: int | None = None) -> str:
        """What the agents have printed, one host's or all hosts' in turn."""
        indices = range(self.hosts) if index is None else [index]
        paths = [self.folder / f"agent-{number}.log" for number in indices]
        return "".join(path.read_text("utf-8", "replace") for path in paths if path.exists())

    def lines(self, index: int | None = None) -> list[str]:
        return self.text(index).splitlines()

    def said(self, pattern: str) -> list[str]:
        return [line for line in self.lines() if re.search(pattern, line)]

    def failures(self) -> list[dict[str, Any]]:
        """The contents of all lines about a failure."""
        found = [line.partition("launch: failure: ")[2] for line in self.lines()]
        return [json.loads(text) for text in found if text]

    def failure(self) -> dict[str, Any]:
        """The content of the one line about a failure."""
        found = self.failures()
        assert len(found) == 1, self.text()
        return found[0]

    def processes_of_ranks(self) -> dict[int, str]:
        """Everything of this job that runs and is no agent."""
        agents = {agent.pid for agent in self.agents.values()}
        found = processes_with(f"LAUNCH_JOB={self.name}")
        return {pid: command for pid, command in found.items() if pid not in agents}

    def guard(self, rank: int, seconds: float = SECONDS) -> int:
        """The process of a rank, once it runs."""

        def find() -> int:
            for pid in processes_with(f"HOROVOD_RANK={rank}"):
                if (
                    pid in self.processes_of_ranks()
                    and "guard.py" in self.processes_of_ranks()[pid]
                ):
                    return pid
            return 0

        return int(until(find, f"rank {rank}", seconds))

    def until_said(self, pattern: str, seconds: float = SECONDS, count: int = 1) -> list[str]:
        def look() -> list[str] | bool:
            ended = all(agent.poll() is not None for agent in self.agents.values())
            said = self.said(pattern)
            return said if len(said) >= count else ended

        found = until(look, lambda: f"{pattern!r} in\n{self.text()}", seconds)
        assert found is not True, f"all agents ended before {pattern!r} was said:\n{self.text()}"
        return list(found)

    def clean_up(self) -> None:
        for agent in self.agents.values():
            if agent.poll() is None:
                agent.kill()
            agent.wait()
        for pid in processes_with(f"LAUNCH_JOB={self.name}"):
            os.kill(pid, signal.SIGKILL)
        for file in self._files:
            file.close()


def simulated_jobs(tmp_path: Path) -> Iterator[Callable[..., SimulatedJob]]:
    """For a fixture: makes jobs, and leaves no process of them behind."""
    jobs: list[SimulatedJob] = []

    def make(**how: Any) -> SimulatedJob:
        folder = tmp_path / f"job-{len(jobs)}"
        folder.mkdir()
        jobs.append(SimulatedJob(folder, **how))
        return jobs[-1]

    yield make
    for job in jobs:
        job.clean_up()
