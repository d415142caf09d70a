"""Runs `launch doctor` in this process, in an environment of which nothing is known."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from launchers.cli import main
from tests.cli import answers

# What says where somebody's clouds and interpreters are.
_OURS = ("AWS_", "GOOGLE_", "CLOUDSDK_", "LAUNCH_", "DOCKER_", "VIRTUAL_ENV", "CONDA_PREFIX")


@dataclass(frozen=True)
class Examined:
    """What one call gave."""

    code: int
    out: str
    err: str

    def answer(self) -> dict[str, Any]:
        """The ``--json`` answer."""
        found: dict[str, Any] = json.loads(self.out)
        return found

    def of(self, subject: str) -> dict[str, dict[str, Any]]:
        """Name -> finding of one subject; of several of a name the worst."""
        order = ("ok", "skipped", "unknown", "warning", "error")
        mine = [one for one in self.answer()["findings"] if one["subject"] == subject]
        return {one["name"]: one for one in sorted(mine, key=lambda one: order.index(one["state"]))}


@dataclass(frozen=True)
class Doctor:
    """The command, with its folders."""

    folder: Path
    home: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *words: str) -> Examined:
        """Run to the end."""
        self.capsys.readouterr()
        code = main.ended(["doctor", *words])
        printed = self.capsys.readouterr()
        answers.check(("doctor", *words), code, printed.out)
        return Examined(code, printed.out, printed.err)

    def json(self, *words: str) -> Examined:
        """The same, for a program."""
        return self(*words, "--json")

    def sees(self, variables: dict[str, str]) -> None:
        """Set these."""
        for name, value in variables.items():
            self.monkeypatch.setenv(name, value)


def examined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Doctor:
    """In an empty folder, for a user with an empty home."""
    for name in [name for name in os.environ if name.startswith(_OURS)]:
        monkeypatch.delenv(name)
    folder, home = tmp_path / "project", tmp_path / "home"
    for one in (folder, home):
        one.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("LAUNCH_CONFIG_DIR", str(home / "settings"))
    monkeypatch.setenv("LAUNCH_HOME", str(home / "launch"))
    # No test asks the machine that it runs on for a cloud's credentials.
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    return Doctor(folder, home, monkeypatch, capsys)
