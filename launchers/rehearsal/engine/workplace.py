"""The files that a rehearsal needs on this machine while it runs, and where its outcome goes."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from launchers.core.model.problems import LaunchError
from launchers.core.paths import writing
from launchers.core.records.ledger import data_folder
from launchers.rehearsal.catalogue import RULES
from launchers.rehearsal.engine.labels import Labels

# tmpfs on Linux: what lies there never reaches a disk.
MEMORY = Path("/dev/shm")
_MEMORY_PREFIX = "launch-rehearsal-"
_LABELS = "labels.json"
# A folder without labels is of a launcher that was killed between two system calls.
_UNLABELLED_SECONDS = 60.0


class Workplace:
    """Folders of one rehearsal that nobody else may read, gone with it.

    Attributes:
        folder: For what containers mount: hook, channel data, the code.
        memory: For credentials; made on demand, in memory.
    """

    def __init__(self, labels: Labels):
        self._labels = labels
        self.folder = _root() / "work" / labels.id
        self.memory = MEMORY / f"{_MEMORY_PREFIX}{labels.id}"

    def make(self) -> None:
        """Make :attr:`folder`.

        Raises:
            LaunchError: It cannot be written.
        """
        with writing(self.folder, "set LAUNCH_HOME to another folder"):
            self.folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _make_labelled(self.folder, self._labels)

    def make_memory(self) -> None:
        """Make :attr:`memory`.

        Raises:
            LaunchError: This machine has no folder in memory.
        """
        try:
            _make_labelled(self.memory, self._labels)
        except OSError as error:
            raise LaunchError(
                RULES["memory-folder"].at("--with-credentials", f"{MEMORY}: {error.strerror}")
            ) from None

    def remove(self) -> None:
        """Remove both. Safe to repeat."""
        for folder in (self.memory, self.folder):
            shutil.rmtree(folder, ignore_errors=True)


def outcome_folder(labels: Labels) -> Path:
    """Where model, output and log of a rehearsal go; the user's, and never removed by us."""
    # A document from elsewhere may carry any text as its name.
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", labels.job).strip("-")[:63] or "job"
    return _root() / f"{name}-{labels.id}"


def left_folders() -> Iterator[tuple[Path, Labels]]:
    """Every folder of every rehearsal of this user, those that run included."""
    places = [*(_root() / "work").glob("*"), *MEMORY.glob(f"{_MEMORY_PREFIX}*")]
    for folder in places:
        try:
            if folder.stat().st_uid != os.getuid():
                continue
            text = (folder / _LABELS).read_text(encoding="utf-8")
            yield folder, Labels.read(json.loads(text))
        except (OSError, ValueError):
            if _age(folder) > _UNLABELLED_SECONDS:
                yield folder, Labels(folder.name.removeprefix(_MEMORY_PREFIX), "", "", "", 0.0)


def _root() -> Path:
    return data_folder() / "rehearsals"


def _make_labelled(folder: Path, labels: Labels) -> None:
    folder.mkdir(mode=0o700)
    (folder / _LABELS).write_text(json.dumps(labels.values()), encoding="utf-8")


def _age(folder: Path) -> float:
    try:
        return time.time() - folder.stat().st_mtime
    except OSError:
        return 0.0
