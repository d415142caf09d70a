"""What tools and shells leave in a source folder, and nobody means to send.

A folder of metrics or a log that grows would make each submission another job. All of it is named
in the plan, and a line of `.launchignore` (``!wandb/``) keeps it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from fnmatch import translate

OUTPUT = "a tool's output (to send it, add !PATH to .launchignore)"
REDIRECTED = "this command's own output"

# docs.wandb.ai, mlflow.org/docs, lightning.ai/docs, docs.neptune.ai, aimstack.readthedocs.io: where
# each writes by default (read 2026-11). A package of that name is no such folder.
_FOLDERS = frozenset({"wandb", "mlruns", "mlartifacts", "lightning_logs", ".neptune", ".aim"})
# These may be anything; without a Python file inside they are logs.
_FOLDERS_OF_LOGS = frozenset({"log", "logs", "runs", "tb_logs", "tensorboard"})
_FILES = re.compile("|".join(map(translate, ("*.log", "nohup.out", "events.out.tfevents.*"))))
# Together they show the folder of a job that ran here, with ``--output-path`` in the source.
_OF_A_JOB = ("definition.json", os.path.join("logs", "job.log"))
# Looked through at the most.
_MOST_ENTRIES = 5000


def is_output(path: str, name: str, is_folder: bool) -> bool:
    """Whether the file or folder at ``path`` is what a tool leaves behind."""
    if not is_folder:
        return bool(_FILES.match(name))
    if name in _FOLDERS:
        return not os.path.exists(os.path.join(path, "__init__.py"))
    if all(os.path.isfile(os.path.join(path, file)) for file in _OF_A_JOB):
        return True
    return name in _FOLDERS_OF_LOGS and not _holds_python(path)


def _holds_python(folder: str) -> bool:
    seen = 0
    for _, folders, files in os.walk(folder):
        if any(name.endswith(".py") for name in files):
            return True
        seen += len(folders) + len(files)
        if seen > _MOST_ENTRIES:
            break
    return False


def redirected_files() -> Collection[tuple[int, int]]:
    """Device and inode of the files that this command's pipeline writes: its own streams'
    (``> run.log``), and those of what reads them (``| tee out.txt``), which has its process group.

    Empty where /proc does not say. A Python file is none of them: that may be a notebook's.
    """
    found = set(_written_by("self"))
    try:
        others = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
        group = os.getpgrp()
    except OSError:
        return found
    for process in others:
        try:
            if process != os.getpid() and os.getpgid(process) == group:
                found |= _written_by(str(process))
        except OSError:  # it has ended
            continue
    return found


def _written_by(process: str) -> set[tuple[int, int]]:
    """The files that are open for writing alone, as a shell's redirection opens them."""
    found = set()
    try:
        descriptors = os.listdir(f"/proc/{process}/fd")
    except OSError:
        return set()
    for descriptor in descriptors:
        try:
            link = f"/proc/{process}/fd/{descriptor}"
            # The link's own mode says how the file is open (proc(5)).
            if os.lstat(link).st_mode & 0o700 & ~0o100 != 0o200:
                continue
            path = os.readlink(link)
            if path.startswith("/") and not path.endswith(".py"):
                status = os.stat(link)
                found.add((status.st_dev, status.st_ino))
        except OSError:
            continue
    return found
