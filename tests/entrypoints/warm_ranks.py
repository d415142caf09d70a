"""Processes of ranks that start warm: forked from a Python that has imported what they would."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

SERVER = Path(__file__).with_name("warm_python.py")
# These change an interpreter, or a library, before it runs: a rank that has another takes an
# interpreter of its own. PYTHONPATH is no such name.
_READ_AT_IMPORT = (
    *("TF_", "KERAS_", "OMP_", "KMP_", "OPENBLAS_", "CUDA_", "XLA_"),
    *("PYTHON", "LD_", "MALLOC", "COVERAGE"),
)

# As the scripts have them that name none.
_DEFAULTS = {"TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "2"}


class WarmPython:
    """See ``warm_python``.

    Args:
        hooks: A script that runs there before the imports.
    """

    def __init__(self, hooks: Path | None = None):
        self._hooks = [] if hooks is None else [str(hooks)]
        self._environment: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, environment: Mapping[str, str]) -> None:
        """Starts it in this environment; does not wait."""
        self._environment = {**_DEFAULTS, **environment}
        self._process = subprocess.Popen(
            [sys.executable, str(SERVER), *self._hooks],
            env=self._environment,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def stop(self) -> None:
        """Ends it; ranks go on."""
        if self._process is not None:
            self._process.communicate()
            self._process = None

    def takes(self, environment: Mapping[str, str]) -> bool:
        """Whether it runs, and a rank in this environment would import what it has imported."""
        return self._process is not None and _read_at_import(self._environment) == _read_at_import(
            {**_DEFAULTS, **environment}
        )

    def rank(
        self,
        script: Path,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        streams: tuple[Path, Path],
    ) -> WarmRank:
        """Starts a rank; waits for the imports where it is the first.

        Args:
            script: What to run, as Python would.
            arguments: Of the script.
            folder: To work in.
            environment: All of it.
            streams: The files of its standard output and standard error.
        """
        process = self._process
        assert process
        assert process.stdin
        assert process.stdout
        asked = {
            "script": str(script),
            "arguments": list(arguments),
            "folder": str(folder),
            "environment": dict(environment),
            "out": str(streams[0]),
            "err": str(streams[1]),
        }
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        answer = process.stdout.readline()
        assert answer, f"{SERVER.name} ended with {process.wait()}"
        return WarmRank(int(answer))


def _read_at_import(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(_READ_AT_IMPORT) and name != "PYTHONPATH"
    }


class WarmRank:
    """A rank's process, as ``subprocess.Popen`` has it."""

    def __init__(self, pid: int):
        self.pid = pid
        self.returncode: int | None = None
        self._end = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
                os.close(self._end)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended.

        Raises:
            subprocess.TimeoutExpired: It has not after so many seconds.
        """
        if self.returncode is None:
            select.select([self._end], [], [], timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(f"rank {self.pid}", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Sends it, unless the rank has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)
