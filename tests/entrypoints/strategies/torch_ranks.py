"""Real ranks of torch.distributed, by Debian's PyTorch for its own Python: Gloo and DDP."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.entrypoints.simulated import clean_environment, free_port

PYTHON = Path("/usr/bin/python3")
_PACKAGE = Path("/usr/lib/python3/dist-packages/torch/__init__.py")
WATCHED = Path(__file__).with_name("watched.py")
SIZE = 4
SECONDS = 240.0  # all cases together need about 15 on a machine of their own


def need_torch() -> None:
    """Skips the test where there is no PyTorch; fails it in CI, which installs one."""
    if PYTHON.exists() and _PACKAGE.exists():
        return
    if os.environ.get("CI"):
        pytest.fail("no PyTorch for /usr/bin/python3: apt-get install python3-torch")
    pytest.skip("no PyTorch for /usr/bin/python3 (Debian: apt-get install python3-torch)")


def environment() -> dict[str, str]:
    """What the ranks of these tests inherit."""
    return {**clean_environment(), "PYTHONPATH": "", "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Outcome:
    """What one case has left: records by rank, and what went wrong in which rank."""

    records: dict[int, list[dict[str, object]]]
    troubles: dict[int, str]


def run_all(folder: Path, cases: Mapping[str, str], prologue: str) -> dict[str, Outcome]:
    """Runs every case on SIZE ranks, which fork one process a case: PyTorch is imported once.

    Args:
        folder: For what they leave.
        cases: Name -> what its ranks do, with ``rank``, ``size``, ``dist`` and what ``prologue``
            defines.
        prologue: Run ahead of each.
    """
    listed = [
        {"name": name, "port": free_port(), "text": prologue + text} for name, text in cases.items()
    ]
    (folder / "cases.json").write_text(json.dumps(listed))
    ranks = [
        subprocess.Popen(
            [str(PYTHON), str(WATCHED), str(folder), str(rank), str(SIZE)],
            env={**environment(), "LAUNCH_WORLD_SIZE": str(SIZE)},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        for rank in range(SIZE)
    ]
    try:
        codes = [rank.wait(SECONDS) for rank in ranks]
    finally:
        for rank in ranks:
            if rank.poll() is None:
                os.killpg(rank.pid, 9)
            rank.wait()
    assert codes == [0] * SIZE
    return {name: _outcome(folder, number) for number, name in enumerate(cases)}


def _outcome(folder: Path, number: int) -> Outcome:
    found = {
        rank: json.loads((folder / f"case-{number}-{rank}.json").read_text())
        for rank in range(SIZE)
    }
    records = {rank: one["records"] for rank, one in found.items()}
    return Outcome(records, {rank: one["trouble"] for rank, one in found.items() if one["trouble"]})
