"""What `launch image build --push` pushed last, on this machine."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from launchers.core.paths import writing
from launchers.core.records.ledger import data_folder


def last_pushed() -> str | None:
    """``REPOSITORY@sha256:...``, or None where nothing was pushed."""
    try:
        found = json.loads(_file().read_text(encoding="utf-8"))["reference"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, str) else None


def remember_pushed(reference: str, tag: str) -> None:
    """Keep what was pushed, for :func:`last_pushed`.

    Args:
        reference: The repository with the digest.
        tag: The same image by its tag, for people.

    Raises:
        LaunchError: The user's data folder cannot be written.
    """
    file = _file()
    record = {
        "reference": reference,
        "tag": tag,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    partial = file.with_name(f"{file.name}.{os.getpid()}")
    with writing(file, "set LAUNCH_HOME to another folder", "a file that can be written"):
        partial.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        partial.replace(file)


def _file() -> Path:
    return data_folder() / "image.json"
