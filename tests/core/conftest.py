"""Fixtures of the source bundle's tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from launchers.core.source.bundle import SourceBundle, scan
from tests.core.source.trees import Scanned, plant


@pytest.fixture
def entrypoints(tmp_path: Path) -> Path:
    return plant(
        tmp_path / "entrypoints",
        {
            "agent.py": "agent",
            "guard.py": "guard",
            "launch_runtime/__init__.py": "",
            "launch_runtime/phase.py": "phase",
            "launch_runtime/__pycache__/phase.cpython-311.pyc": b"\0",
            "train_digits.py": "train",
            "lib/data.py": "data",
        },
    )


@pytest.fixture
def scanned(tmp_path: Path, entrypoints: Path) -> Scanned:
    def scan_tree(tree: Mapping[str, str | bytes], **options: object) -> SourceBundle:
        return scan(plant(tmp_path / "source", tree), entrypoints, **options)  # type: ignore[arg-type]

    return scan_tree
