"""Starts :mod:`teller` with a released MLflow client, and speaks with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.places import ROOT
from tests.sagemaker.released import installed

# With a protobuf that TensorFlow 2.18 can be imported with as well.
CLIENT = ("mlflow-skinny==3.17.2", "protobuf<6")


def environment(**more: str) -> dict[str, str]:
    """Of a process that finds MLflow's client, and nothing of this machine's about it."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("MLFLOW_")}
    path = os.pathsep.join([str(ROOT / "entrypoints"), str(installed(*CLIENT))])
    return {**kept, "PYTHONPATH": path, **more}


class Training:
    """One process; ends with the context."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("teller.py"))],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self._seen = 0

    def __enter__(self) -> Training:
        return self

    def __exit__(self, *_: Any) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()

    def __call__(self, *words: Any) -> None:
        """Returns once the call has returned there; what it said is for ``until``."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        while self._next() != "DONE":
            pass

    def until(self, text: str) -> str:
        """The next line with ``text`` in it, of those that nobody has waited for yet."""
        while True:
            while self._seen < len(self.lines):
                self._seen += 1
                if text in self.lines[self._seen - 1]:
                    return self.lines[self._seen - 1]
            self._next()

    def _next(self) -> str:
        assert self._process.stdout
        line = self._process.stdout.readline()
        assert line, f"the process has ended: {self.lines}"
        self.lines.append(line.rstrip("\n"))
        return self.lines[-1]

    def leave(self) -> int:
        """Lets the process come to its own end, and gives its exit code."""
        assert self._process.stdin
        self._process.stdin.close()
        return self._process.wait(timeout=60)
