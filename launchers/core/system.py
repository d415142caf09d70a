"""What only some systems can do."""

from __future__ import annotations

import sys

from launchers.core.catalogue import RULES
from launchers.core.model.problems import LaunchError

_TITLES = {"darwin": "macOS", "win32": "Windows", "cygwin": "Cygwin"}


def require_linux(what: str) -> None:
    """Raises LaunchError where this is another system; ``what`` needs it."""
    if sys.platform != "linux":
        found = f"{_TITLES.get(sys.platform, sys.platform)}, and {what} needs Linux"
        raise LaunchError(RULES["needs-linux"].at("this machine", found))
