"""Which files of a source hold what looks like a credential, told as they go by."""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Collection
from functools import partial
from pathlib import Path, PurePosixPath

from launchers.core.catalogue import RULES
from launchers.core.credentials.assignments import Manner
from launchers.core.credentials.search import scan_text
from launchers.core.credentials.stream import StreamSearch
from launchers.core.model.problems import Problem
from launchers.core.source.bundle_files import CHUNK
from launchers.core.source.by_content import ByContent

_PYTHON = re.compile(rb"#![^\n]*python")
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# By ending, or by the whole name of a file that has none.
_MANNERS: dict[str, Manner] = {
    word: manner
    for manner, row in json.loads(Path(__file__).with_name("manners.json").read_text("utf-8"))[
        "manners"
    ].items()
    for word in (*row["endings"], *row.get("names", ()))
}


def _lines(manner: Manner, content: bytes) -> list[tuple[int, str]]:
    return scan_text(content.decode("utf-8", "replace"), manner)


_FOUND = {
    manner: ByContent(partial(_lines, manner)) for manner in ("code", "configuration", "prose")
}


class CredentialFiles:
    """Looks for credentials in the contents of files that go by, the large ones in pieces.

    Args:
        allowed: Paths of files that may hold one (`--allow-value`).

    Attributes:
        problems: One for each place.
        passed: Those of ``allowed`` that hold one.
    """

    def __init__(self, allowed: Collection[str] = ()) -> None:
        self.allowed = {PurePosixPath(path) for path in allowed}
        self.problems: list[Problem] = []
        self.passed: list[str] = []
        self._large: tuple[str, StreamSearch] | None = None

    def look(self, path: str, size: int, content: bytes) -> None:
        """Takes the next bytes of ``path``: all of them, where ``size`` is at most a chunk."""
        if self._large and self._large[0] != path:
            self.end()
        if size <= CHUNK:
            self._tell(path, places_in(path, content))
            return
        if self._large is None:
            self._large = (path, StreamSearch())
        self._large[1].feed(content)

    def end(self) -> None:
        """The last large file is through."""
        if self._large:
            path, search = self._large
            self._large = None
            self._tell(path, _places(path, search))

    def _tell(self, path: str, found: list[tuple[str, str]]) -> None:
        if found and PurePosixPath(path) in self.allowed:
            self.passed.append(path)
            return
        self.problems += [_problem(path, place, kind) for place, kind in found]


def places_in(path: str, content: bytes) -> list[tuple[str, str]]:
    """Place (``path:LINE``) and kind of each credential in a file of at most a chunk."""
    content = _as_utf8(content)
    if b"\0" in content:
        search = StreamSearch()
        search.feed(content)
        return _places(path, search)
    name = path.rpartition("/")[2].lower()
    manner = _MANNERS.get(os.path.splitext(name)[1] or name, "prose")
    if name.startswith((".env", "dockerfile")):
        manner = "configuration"
    if "." not in name and _PYTHON.match(content):
        manner = "code"
    return [(f"{path}:{line}", kind) for line, kind in _FOUND[manner](content)]


def _as_utf8(content: bytes) -> bytes:
    """A file that begins with UTF-16's mark, as PowerShell's ``>`` writes it, as UTF-8; any other
    as it is."""
    if not content.startswith(_UTF_16) or content.startswith(codecs.BOM_UTF32_LE):
        return content
    return content.decode("utf-16", "replace").encode("utf-8", "replace")


def _places(path: str, search: StreamSearch) -> list[tuple[str, str]]:
    word = "{} at byte {}" if search.binary else "{}:{}"
    return [(word.format(path, at), kind) for at, kind in search.found.items()]


def _problem(path: str, place: str, kind: str) -> Problem:
    return RULES["source-credential"].at(
        place,
        f"holds what looks like {kind}",
        fix="Read it from an environment variable and pass that with --secret NAME=REFERENCE, or "
        "leave the file out with a line in .launchignore; if it is no credential, "
        f"--allow-value '{path}' lets the file pass",
    )
