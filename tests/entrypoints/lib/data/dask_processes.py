"""A real Dask scheduler and workers as processes, for tests."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.entrypoints.simulated import clean_environment
from tests.waiting import until

# Faults are noticed at once, and nothing is written to the home folder.
QUICK = {
    "PYTHONPATH": "",
    "OMP_NUM_THREADS": "1",
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "5s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "3s",
}


class Dask:
    """A scheduler and workers, by name; all are gone after ``close``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.address = ""

    def start_scheduler(
        self, host: str = "127.0.0.1", port: int = 0, before: Sequence[str] = ()
    ) -> str:
        """Starts it and gives its address."""
        file = self._folder / "scheduler.json"
        file.unlink(missing_ok=True)
        arguments = ["--host", host, "--port", str(port), "--scheduler-file", str(file)]
        self._start("scheduler", "dask_scheduler", arguments, before)
        until(lambda: file.exists() and file.read_text().rstrip().endswith("}"), "the scheduler")
        self.address = file.read_text().split('"address": "')[1].split('"')[0]
        return self.address

    def start_worker(
        self,
        name: str,
        *,
        before: Sequence[str] = (),
        preload: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Starts a worker of one thread; ``preload`` is Python that it runs first."""
        arguments = [self.address, "--no-nanny", "--nthreads", "1", "--name", name]
        arguments += ["--local-directory", str(self._folder / name)]
        if preload:
            (self._folder / f"{name}.py").write_text(preload)
            arguments += ["--preload", str(self._folder / f"{name}.py")]
        self._start(name, "dask_worker", arguments, before, environment)

    def kill(self, name: str) -> None:
        """As the out-of-memory killer does."""
        process = self._processes.pop(name)
        process.kill()
        process.wait()

    def signal(self, name: str, number: signal.Signals) -> None:
        self._processes[name].send_signal(number)

    def said(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text()

    @contextlib.contextmanager
    def watched(self, prefix: str = "launch-") -> Iterator[Callable[[], int]]:
        """A function that counts what the scheduler knows: batches that wait, are made or kept."""
        from distributed import Client

        def count(dask_scheduler: Any) -> int:
            return sum(str(key).startswith(prefix) for key in dask_scheduler.tasks)

        with Client(self.address, set_as_default=False) as client:
            yield lambda: client.run_on_scheduler(lambda dask_scheduler: count(dask_scheduler))

    def close(self) -> None:
        for name in [*self._processes]:
            self.kill(name)

    def _start(
        self,
        name: str,
        module: str,
        arguments: Sequence[str],
        before: Sequence[str],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        with open(self._folder / f"{name}.log", "ab") as log:
            self._processes[name] = subprocess.Popen(
                [*before, sys.executable, "-m", f"distributed.cli.{module}",
                 "--no-dashboard", *arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self._folder,
                env={**clean_environment(), **QUICK, **(environment or {})},
            )  # fmt: skip


def environment_of_ranks() -> dict[str, str]:
    """What makes a rank notice faults as soon as the scheduler does."""
    return {name: value for name, value in QUICK.items() if name.startswith("DASK")}


os.environ.update(environment_of_ranks())  # before Dask is imported here
