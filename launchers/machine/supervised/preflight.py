"""Whether a job's folders can be written, asked before anything starts."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem
from launchers.core.paths import unwritable

# Room that a job's logs, model and checkpoints need at the very least.
LEAST_FREE_BYTES = 32 * 1024**2
ELSEWHERE = "name another with --output-path (or LAUNCH_HOME for all jobs)"


def folder_problems(folders: Iterable[str]) -> list[Problem]:
    """Folders that can be written, with room on their disks. Writes a small file and removes it."""
    return [problem for folder in folders for problem in _problems_of(Path(folder))]


def _problems_of(folder: Path) -> list[Problem]:
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    probe = existing / f".launch-probe-{os.getpid()}"
    try:
        if not existing.is_dir():
            raise NotADirectoryError(20, "not a folder")
        probe.write_bytes(b"\0" * 4096)
    except OSError as error:
        return [unwritable(folder, error, ELSEWHERE)]
    finally:
        with contextlib.suppress(OSError):
            probe.unlink()
    free = shutil.disk_usage(existing).free
    if free < LEAST_FREE_BYTES:
        return [
            RULES["disk-full"].at(
                str(folder),
                f"{free // 1024**2} MB free on its disk",
                f"at least {LEAST_FREE_BYTES // 1024**2} MB",
            )
        ]
    return []
