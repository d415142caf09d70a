"""A rank's connection to a Dask scheduler and what it needs of the workers, said before training.

A scheduler is open to whoever reaches its port, and whoever does runs code on its workers; what
comes from it is unpickled here. Name only a scheduler of your own, on a network of your own, or one
with certificates (``tls://``, by Dask's configuration: DASK_DISTRIBUTED__COMM__TLS__*).
"""

from __future__ import annotations

import contextlib
import logging
import platform
import re
import time
import uuid
from typing import Any, Mapping, Sequence

from .. import dask_code
from ..errors import TrainingError, first_line

ALIKE = ("dask", "distributed")  # versions that must be the same everywhere
ADDRESS = re.compile(r"(tcp|tls)://[^/@\s]+:\d{1,5}")
CONNECT_SECONDS = 10.0
WORKERS_SECONDS = 60.0  # for the first worker to come, or for one to come back
POLL_SECONDS = 0.5


class Connection:
    """A client of the scheduler at ``address``, with this package's code at hand for its tasks."""

    def __init__(self, address: str, connect_seconds: float = CONNECT_SECONDS):
        """Connects; blocks for ``connect_seconds`` at most.

        Raises:
            TrainingError: No Dask here, or no scheduler there.
        """
        self.address = address
        self._connect_seconds = connect_seconds
        self._packed = dask_code.packed()
        self._call = dask_code.caller()
        self._connect()

    def _connect(self) -> None:
        if not ADDRESS.fullmatch(self.address):  # Dask waits forever for some that are none
            raise TrainingError(
                f"--scheduler {self.address}: no address of a Dask scheduler; expected "
                "tcp://HOST:PORT or tls://HOST:PORT, as the scheduler says when it starts."
            )
        try:
            import distributed
        except ImportError as error:
            raise TrainingError(
                f"--scheduler {self.address}: this Python has no Dask ({error}); expected the "
                "package dask[distributed]. Install the launcher's extra 'dask'."
            ) from error
        # What goes wrong is said here, in one line.
        for logger in ("distributed", "asyncio"):
            logging.getLogger(logger).setLevel(logging.CRITICAL + 1)
        try:
            self._client = distributed.Client(
                self.address, timeout=self._connect_seconds, set_as_default=False, name="launch"
            )
        except Exception as error:  # whatever an address can be that is none
            raise TrainingError(
                f"--scheduler {self.address}: no Dask scheduler answers there "
                f"({first_line(error)}). Start one (dask scheduler) and check address, port and "
                "firewall; tls:// needs the certificates in Dask's configuration."
            ) from error
        self._content = self._client.submit(
            dask_code.identity(),
            self._packed.content,
            key=f"{self._packed.name}-{uuid.uuid4().hex}",
            pure=False,
        )

    def reconnect(self) -> None:
        """Connects anew; what was submitted before is lost. Raises as the constructor does."""
        self.close()
        self._connect()

    def close(self) -> None:
        """Gives up what is submitted. Doesn't raise."""
        with contextlib.suppress(Exception):
            self._client.close(timeout=5)

    def submit(self, module: str, function: str, *arguments: Any, **how: Any) -> Any:
        """The future of a call on some worker; ``how`` goes to Dask's ``Client.submit``."""
        name = self._packed.name
        return self._client.submit(
            self._call, name, self._content, module, function, *arguments, pure=False, **how
        )

    def is_connected(self) -> bool:
        """Whether the scheduler answers now."""
        return bool(self._client.status == "running")

    def workers(self) -> Sequence[str]:
        """The addresses of the workers that the scheduler has now."""
        return sorted(self._client.nthreads())

    def wait_for_workers(self, seconds: float = WORKERS_SECONDS) -> None:
        """Blocks until there is a worker, at most so many seconds.

        Raises:
            TrainingError: There is none.
        """
        deadline = time.monotonic() + seconds
        while not self.workers():
            if time.monotonic() > deadline:
                raise TrainingError(
                    f"--scheduler {self.address}: no worker in {seconds:g} s. Start some with "
                    f"'dask worker {self.address}'."
                )
            time.sleep(POLL_SECONDS)

    def check(self, module: str, function: str, *arguments: Any) -> str:
        """Proves that every worker can do its tasks, and gives the release of Pillow of all.

        Args:
            module: As for ``submit``.
            function: Gives (what is wrong with a worker or "", its release of Pillow).
            arguments: Of the function.

        Raises:
            TrainingError: Versions differ, or a worker cannot; its words are part of the line.
        """
        found = self._client.get_versions()
        problem = version_problem(found["client"], found["scheduler"], found["workers"])
        if problem:
            raise TrainingError(f"--scheduler {self.address}: {problem}")
        calls = {
            worker: self.submit(module, function, *arguments, workers=[worker])
            for worker in self.workers()
        }
        pillows: dict[str, str] = {}
        for worker, future in calls.items():
            try:
                problem, pillow = future.result(timeout=WORKERS_SECONDS)
            except Exception as error:
                problem, pillow = f"{type(error).__name__}: {first_line(error)}", ""
            if problem:
                raise TrainingError(
                    f"--scheduler {self.address}: the worker {worker} cannot work: {problem}"
                )
            pillows[pillow] = worker
        if len(pillows) > 1:
            (one, who), (other, where) = sorted(pillows.items())[:2]
            raise TrainingError(
                f"--scheduler {self.address}: the worker {who} has Pillow {one}, {where} has "
                f"{other}; expected the same on all, or pixels depend on who made them."
            )
        return next(iter(pillows))


def version_problem(
    client: Mapping[str, Any], scheduler: Mapping[str, Any], workers: Mapping[str, Any]
) -> str:
    """What keeps these from working together, or "".

    Args:
        client: As one value of Dask's ``Client.get_versions``; of this process.
        scheduler: The same, of the scheduler.
        workers: The same of each worker, by address.
    """
    here = _versions(client)
    for who, about in (("the scheduler", scheduler), *_named(workers)):
        there = _versions(about)
        for name in ("Python", *ALIKE):
            if here[name] != there[name]:
                return (
                    f"{who} has {name} {there[name]}, this process {here[name]}; expected the "
                    "same. Install one version everywhere."
                )
    return ""


def _named(workers: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(f"the worker {address}", about) for address, about in sorted(workers.items())]


def _versions(about: Mapping[str, Any]) -> dict[str, Any]:
    python = about["host"].get("python", platform.python_version())
    packages = about["packages"]
    return {
        "Python": ".".join(str(python).split(".")[:2]),
        **{name: packages.get(name) for name in ALIKE},
    }
