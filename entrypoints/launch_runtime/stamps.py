"""The stamp on the lines by which agent and guard speak to the launcher.

The job definition carries a nonce that was drawn for this job alone. Its one-way digest stands on
every such line, so that a line that a script prints, or that comes from another job's log, is no
more than text. The nonce itself is never printed. That guards against accident and replay, not
against malice: a script can read its own process.
"""

from __future__ import annotations

import hashlib
from typing import Mapping, MutableMapping

NONCE = "LAUNCH_NONCE"
_LENGTH = 16  # hexadecimal characters


def of(nonce: str) -> str:
    """The stamp of a nonce; "" where there is none, as in a document from elsewhere.

    Example:
        >>> of("")
        ''
    """
    if not nonce:
        return ""
    return hashlib.sha256(b"launch stamp " + nonce.encode("utf-8", "replace")).hexdigest()[:_LENGTH]


def read(environment: Mapping[str, str]) -> str:
    """The stamp of the nonce in ``environment``, or ""."""
    return of(environment.get(NONCE, ""))


def take(environment: MutableMapping[str, str]) -> str:
    """The same; the nonce is not in ``environment`` any more."""
    stamp = read(environment)
    environment.pop(NONCE, None)
    return stamp
