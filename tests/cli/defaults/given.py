"""A job as a command line, variables and files give it, without a process of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from launchers.cli.options import Given, given_job
from launchers.cli.verbs.run import provider_command
from launchers.core.registry import provider


class Desk:
    """A working folder, a configuration folder, and an environment.

    Attributes:
        folder: The working folder.
        config: The configuration folder, which is not there before something is written.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch):
        self.folder, self.config = folder / "project", folder / "config"
        self.folder.mkdir()
        self._patch = monkeypatch
        monkeypatch.chdir(self.folder)
        for name in os.environ:
            if name.startswith(("LAUNCH_", "AWS_", "GOOGLE_", "CLOUDSDK_")):
                monkeypatch.delenv(name)
        monkeypatch.setenv("LAUNCH_CONFIG_DIR", str(self.config))
        monkeypatch.setenv("LAUNCH_HOME", str(folder / "home"))
        monkeypatch.setenv("AWS_CONFIG_FILE", str(folder / "none"))
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(folder / "none"))

    def set(self, **variables: str) -> None:
        for name, value in variables.items():
            self._patch.setenv(name, value)

    def file(self, text: str, name: str = "launch.yaml") -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def defaults(self, text: str, mode: int = 0o600) -> Path:
        self.config.mkdir(exist_ok=True)
        path = self.config / "defaults.yaml"
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        return path

    def given(self, *words: str, name: str = "sagemaker", after: tuple[str, ...] | None = None):
        """What ``launch NAME WORDS -- AFTER`` asks for."""
        command = provider_command(name)
        values = command.make_context(name, list(words)).params
        flags = [flag for item in command.params for flag in item.opts]
        found: Given = given_job(provider(name), values, after, flags)
        return found
