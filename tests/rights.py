"""A folder in which one has no rights, also where root runs the tests."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that everybody reaches, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="launch-rights-") as name:
        os.chmod(name, 0o755)
        yield Path(name)


@contextmanager
def without_rights(folder: Path) -> Iterator[None]:
    """This process may not look into ``folder`` meanwhile: to root every folder is open, so it is
    nobody until then."""
    user = os.geteuid()
    try:
        folder.chmod(0o000)
        if user == 0:
            os.seteuid(65534)
        yield
    finally:
        os.seteuid(user)
        folder.chmod(0o700)
