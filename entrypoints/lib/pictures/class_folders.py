"""Walks class folders of this machine: one rule for the converter and ``--data images:``, so that
both know the same classes and give them the same labels.

Each folder of the first level is a class, also an empty one; names that begin with "." are left
out. Links are followed, except to a folder that they lie in, which would never end.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any, Callable, Iterator, Tuple

_Identity = Tuple[int, int]  # device and inode


def walk(source: str) -> Iterator[tuple[str, int]]:
    """(path, bytes) of files and (path + "/", 0) of folders below ``source``, with "/".

    A link that leads nowhere is a file of 0 bytes: a bad picture, not one less.

    Raises:
        OSError: A folder cannot be read.
    """
    return _walk(source, "", _on_the_way_to(os.path.realpath(source)))


def _on_the_way_to(folder: str) -> frozenset[_Identity]:
    """The folder, and all that it lies in."""
    found = {_identity(os.stat(folder))}
    while folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
        with contextlib.suppress(OSError):
            found.add(_identity(os.stat(folder)))
    return frozenset(found)


def _walk(source: str, below: str, above: frozenset[_Identity]) -> Iterator[tuple[str, int]]:
    """``above`` are the folders on the way, from the root of the file system on."""
    with os.scandir(os.path.join(source, below)) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            path = below + entry.name
            if _holds(entry.is_dir):
                # A way comes back by a link alone, and some mounts have no inodes of their own.
                this = _identity(entry.stat())
                if not (entry.is_symlink() and this in above):
                    yield path + "/", 0
                    yield from _walk(source, path + "/", above | {this})
            elif _holds(entry.is_file):
                yield path, entry.stat().st_size
            elif entry.is_symlink():
                yield path, 0


def _identity(about: os.stat_result) -> _Identity:
    return about.st_dev, about.st_ino


def _holds(question: Callable[[], Any]) -> bool:
    """False too where a link leads round in a circle, or to where nobody may look."""
    try:
        return bool(question())
    except OSError:
        return False
