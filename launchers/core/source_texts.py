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
            try:
                self._contents[path] = self._origins[path].read_bytes()
            except (OSError, KeyError):
                self._contents[path] = b""
        return self._contents[path]
