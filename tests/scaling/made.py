"""Runs and records as a study has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from launchers.scaling.records import Record
from launchers.scaling.results import Epoch, Run, Size


def run(processes: int = 1, repeat: int = 1, state: str = "succeeded", **more: Any) -> Run:
    """A run of two epochs, each rank as fast as another."""
    epochs = tuple(
        Epoch(number, 2.0 * number / processes, 100.0 * processes, 0.5, 0.8, 0.6, 0.7)
        for number in (1, 2)
    )
    found: dict[str, Any] = {"job": f"train-{processes}-{repeat}", "epochs": epochs, **more}
    size = found.pop("size", Size(1, processes))
    return Run(size, repeat, processes, state=state, **found)


def record(*runs: Run, **settings: str) -> Record:
    """A study of these runs."""
    named = {"provider": "local", "--batch": "rank", **settings}
    return Record("train-1", named, "abc", "launch scaling local", "2026-01-01T00:00:00.000Z",
                  "a machine", 2, tuple(runs))  # fmt: skip


def project(folder: Path) -> Path:
    """A folder in it with a script and a file that the script might read."""
    made = folder / "project"
    made.mkdir()
    (made / "train.py").write_text("print('old')\n")
    (made / "config.json").write_text("{}")
    return made
