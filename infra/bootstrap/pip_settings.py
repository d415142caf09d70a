"""The environment in which pip runs here."""

from __future__ import annotations

import os
from pathlib import Path

# What would send packages to another place than the one that is asked for.
DROPPED = ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "VIRTUAL_ENV")
OURS = {
    "PIP_USER": "0",
    "PIP_REQUIRE_VIRTUALENV": "0",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_ROOT_USER_ACTION": "ignore",
}
# The lines of pip's output that say how far it is.
PIP_TELLS = "^ *(Collecting|Downloading|Building|Installing|Successfully) "


def pip_environment(temporary: Path | None = None) -> dict[str, str]:
    """The user's environment, index and certificates kept, without what redirects packages.

    Args:
        temporary: Where pip unpacks and builds: not /tmp, which is small on some machines.
    """
    kept = {name: value for name, value in os.environ.items() if name not in DROPPED}
    return kept | OURS | ({"TMPDIR": str(temporary)} if temporary else {})
