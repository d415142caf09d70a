"""Flags of os.open on every system that the launcher runs on."""

from __future__ import annotations

import os

# Windows hands out lines otherwise, not bytes, and ends a file at its first Ctrl-Z.
_EVERYWHERE = ("O_CLOEXEC", "O_BINARY")


def flags(access: int, *names: str) -> int:
    """``access`` with those of ``names`` that this system has.

    Example:
        >>> flags(os.O_RDONLY, "O_NOFOLLOW") & os.O_WRONLY
        0
    """
    for name in (*_EVERYWHERE, *names):
        access |= getattr(os, name, 0)
    return access
