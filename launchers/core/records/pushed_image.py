"""What `launch image build --push` pushed last, on this machine."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from launchers.core.paths import writing
from launchers.core.records.ledger import data_folder
from launchers.core.strategies import FIRST


def last_pushed(strategy: str = FIRST) -> str | None:
    """``REPOSITORY@sha256:...`` of an image for ranks of ``strategy``, or None where none was
    pushed."""
    found = _read(strategy).get("reference")
    return found if isinstance(found, str) else None


def remember_pushed(reference: str, tag: str, strategy: str = FIRST) -> None:
    """Keep what was pushed, for :func:`last_pushed`.

    Args:
        reference: The repository with the digest.
        tag: The same image by its tag, for people.
        strategy: Whose ranks it was built for.

    Raises:
        LaunchError: The user's data folder cannot be written.
    """
    file = _file(strategy)
    record = {
        "reference": reference,
        "tag": tag,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    partial = file.with_name(f"{file.name}.{os.getpid()}")
    with writing(file, "set LAUNCH_HOME to another folder", "a file that can be written"):
        partial.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        partial.replace(file)


def _read(strategy: str) -> dict[str, object]:
    try:
        found = json.loads(_file(strategy).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _file(strategy: str) -> Path:
    return data_folder() / ("image.json" if strategy == FIRST else f"image-{strategy}.json")
