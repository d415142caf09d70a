"""Submits one job again and again, each time in a process of its own that costs next to nothing.

A provider's own module imports everything and makes its clients, then calls :func:`serve`: a line
on stdin forks a child that submits and does not follow. The child's process id is printed before
it begins, its exit status when it has ended (-9 for one that was killed).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from queue import Queue
from typing import Any

from launchers.core import pipeline
from launchers.core.model.problems import LaunchError
from launchers.core.provider import Provider
from launchers.core.spec.job import JobSpec
from tests.fakes.faults import ANSWERED, ARRIVED, HANDLED, READ, Call


def serve(provider: Provider, job: JobSpec) -> None:
    """Serve lines until stdin ends; a line is the job's own argument, which makes it another."""
    pipeline.prepare(provider, job)
    for line in sys.stdin:
        argument = line.strip()
        start_read, start_write = os.pipe()
        child = os.fork()
        if child == 0:
            os.read(start_read, 1)
            os._exit(submit(provider, replace(job, arguments=("--seed", argument))))
        print(child, flush=True)
        os.write(start_write, b"!")
        _, status = os.waitpid(child, 0)
        os.close(start_read)
        os.close(start_write)
        print(os.waitstatus_to_exitcode(status), flush=True)


def submit(provider: Provider, job: JobSpec) -> int:
    """As the command does it, without following."""
    try:
        prepared = pipeline.prepare(provider, job, online=True)
        if prepared.run.existing is None:
            pipeline.submit(provider, prepared)
    except LaunchError as error:
        print(error, file=sys.stderr, flush=True)
        return error.exit_code
    return 0


class Killer:
    """Kills children of such a process at every request of their submission in turn.

    Args:
        process: What serves lines.
        service: The loopback service that they submit to.
    """

    def __init__(self, process: subprocess.Popen[str], service: Any):
        self._process, self._service = process, service
        self._victims: Queue[int] = Queue()
        self.ended: Counter[str] = Counter()

    def submit(self, seed: int) -> int:
        """One submission to its end; gives its exit status."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{seed}\n")
        self._process.stdin.flush()
        self._victims.put(int(self._process.stdout.readline()))
        status = int(self._process.stdout.readline())
        while not self._victims.empty():
            self._victims.get()
        return status

    def requests(self, seed: int) -> int:
        """How many requests a submission makes that nothing disturbs."""
        self._service.forget_requests()
        assert self.submit(seed) == 0
        return len(self._service.requests)

    def submit_and_kill(self, seed: int, count: int) -> None:
        """One submission that is killed at one of its ``count`` requests."""
        self._service.forget_requests()
        point = (ARRIVED, READ, HANDLED, ANSWERED)[seed // count % 4]
        self._service.faults.add(Call(self._kill), number=1 + seed % count, point=point, times=1)
        status = self.submit(seed)
        self._service.faults.clear()
        self.ended["killed" if status == -signal.SIGKILL else "by itself"] += 1

    def _kill(self, request: object) -> None:
        os.kill(self._victims.get(timeout=60), signal.SIGKILL)
