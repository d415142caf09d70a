"""Runs the command as its user does, in a process of its own, with a data folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tests.cli import answers
from tests.cli.warm import WarmCommand
from tests.places import ROOT

TIMEOUT_SECONDS = 240
WARM = WarmCommand()


@dataclass(frozen=True)
class Answer:
    """What one command line gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """stdout, parsed."""
        return json.loads(self.out)

    @property
    def xml(self) -> ElementTree.Element:
        """stdout as XML."""
        return ElementTree.fromstring(self.out)


@dataclass(frozen=True)
class Launch:
    """`launch` with its own LAUNCH_HOME and working folder."""

    home: Path
    folder: Path

    def __call__(self, *words: str, **environment: str) -> Answer:
        """Run to the end; a ``--json`` answer must have the shape that is documented."""
        variables = self.environment(environment)
        ended = WARM.run(words, self.folder, variables, TIMEOUT_SECONDS)
        answer = Answer(*ended) if ended else self.cold(*words, **environment)
        answers.check(words, answer.code, answer.out)
        return answer

    def cold(self, *words: str, **environment: str) -> Answer:
        """Run to the end, in an interpreter that starts for it."""
        done = subprocess.run(
            self.command(*words),
            cwd=self.folder,
            env=self.environment(environment),
            text=True,
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def start(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        """Start it and return; the caller ends it."""
        return subprocess.Popen(
            self.command(*words),
            cwd=self.folder,
            env=self.environment(environment),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def command(self, *words: str) -> list[str]:
        """The command line."""
        return [sys.executable, "-m", "launchers.cli.main", *words]

    def environment(self, changes: dict[str, str]) -> dict[str, str]:
        """This process's environment without what would change a plan, and with ``changes``."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("LAUNCH_", "AWS_", "GOOGLE_", "CLOUDSDK_"))
            and name not in ("VIRTUAL_ENV",)
        }
        return {
            **kept,
            "LAUNCH_HOME": str(self.home),
            "LAUNCH_CONFIG_DIR": str(self.home / "config"),
            "PYTHONPATH": str(ROOT),
            "AWS_CONFIG_FILE": str(self.home / "no-aws-config"),
            "AWS_SHARED_CREDENTIALS_FILE": str(self.home / "no-aws-credentials"),
            "CLOUDSDK_CONFIG": str(self.home / "no-gcloud-config"),
            **changes,
        }

    def write(self, name: str, text: str) -> Path:
        """A file in the working folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path
