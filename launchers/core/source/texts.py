"""The contents of a source tree's files: each is read once, whoever asks."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any


class SourceTexts:
    """Files of a tree by their path in it, with ``/``.

    What the scan of the bundle has read of Python files is kept (:meth:`keep`); any other content
    is read when it is asked for. It lives as long as its bundle, and with it what was found out
    about the texts (:attr:`known`), so that no plan reads or parses anything twice.

    Args:
        origins: Where each file lies.
        contents: Files that lie nowhere, such as members of an archive.
    """

    def __init__(
        self,
        origins: Mapping[str, Path] | None = None,
        contents: Mapping[str, bytes] | None = None,
    ) -> None:
        self._origins = dict(origins or {})
        self._contents = dict(contents or {})
        self.paths: frozenset[str] = frozenset({*self._origins, *self._contents})
        self.known: dict[Hashable, Any] = {}

    def __contains__(self, path: str) -> bool:
        return path in self.paths

    def keep(self, path: str, content: bytes) -> None:
        """Takes the content of a Python file that somebody has just read; drops any other."""
        if path.endswith(".py"):
            self._contents[path] = content

    def read(self, path: str) -> bytes:
        """The content; empty where there is no such file, or it cannot be read."""
        if path not in self._contents:
            self._contents[path] = self._read(path, -1)
        return self._contents[path]

    def glance(self, path: str, at_most: int = 1_000_000) -> bytes:
        """The first bytes of a file that need not be kept."""
        kept = self._contents.get(path)
        return self._read(path, at_most) if kept is None else kept

    def _read(self, path: str, at_most: int) -> bytes:
        try:
            with self._origins[path].open("rb") as stream:
                return stream.read(at_most)
        except (OSError, KeyError):
            return b""


class Bound:
    """How much of a tree is read for one question; what is left then is not judged.

    Args:
        at_most: Bytes.
    """

    def __init__(self, at_most: int) -> None:
        self._left = at_most

    def reached(self, path: str, content: bytes) -> str:
        """What to say of a file with which it is too much, ``lib/a.py and more: too much to read``;
        empty where it is not."""
        self._left -= len(content)
        return f"{path} and more: too much to read" if self._left < 0 else ""


# Of files that are parsed, and of files that are searched for words, which takes far less time.
PARSED_BYTES, SEARCHED_BYTES = 3_000_000, 20_000_000
