"""A wheel of this tree, as a release would have it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.places import ROOT

_OPTIONS = ("--no-deps", "--no-build-isolation", "--no-index", "--no-cache-dir", "--quiet")


def built_wheel(folder: Path) -> Path:
    """Build it in ``folder``, with the build tools of this environment; gives its path."""
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *_OPTIONS, "--wheel-dir", str(folder), str(ROOT)],
        check=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    (made,) = folder.glob("*.whl")
    return made
