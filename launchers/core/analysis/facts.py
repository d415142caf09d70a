"""What a script and the files that it reaches are and use: facts, no judgement.

Read once a bundle (:attr:`launchers.core.source.texts.SourceTexts.known`). Files are parsed one by
one, when a question needs it: parsing all of a large tree costs more than a whole dry run.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from launchers.core.analysis.modules import SourceModules
from launchers.core.analysis.python_file import PythonFile, python_file
from launchers.core.analysis.python_imports import Import
from launchers.core.analysis.python_names import Reference
from launchers.core.model.problems import errors
from launchers.core.source.script import JobSource
from launchers.core.source.texts import SourceTexts


class Use(NamedTuple):
    """The first place where the source uses a name.

    Attributes:
        path: Of the file in the tree.
        line: From 1.
        name: The whole dotted name as it was resolved, ``keras.ops.relu``.
    """

    path: str
    line: int
    name: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} uses {self.name}"


class SourceFacts:
    """A script of a tree and what it reaches.

    Args:
        texts: The tree.
        script: Its path there.
        roots: Folders of the tree that are on its ``sys.path`` besides its own.

    Attributes:
        parsed: The files, by their path, of which a question needed the syntax tree.
    """

    def __init__(self, texts: SourceTexts, script: str, roots: Sequence[str] = ("",)) -> None:
        self.texts = texts
        self.script = posixpath.normpath(script)
        self.modules = SourceModules(texts, (posixpath.dirname(self.script), *roots))
        self.parsed: dict[str, PythonFile] = {}

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The script and every file of the tree that its imports reach, directly or not; perhaps
        more, never less where names are written out. Costs little: only the script is parsed."""
        reached = dict.fromkeys([self.script, *self.modules.packages_of(self.script)])
        waiting = list(reached)
        while waiting:
            path = waiting.pop()
            for one in self.near_imports(path):
                found = self.modules.find(one, path)
                if not found.files and not found.complete:
                    found = self.modules.find_anywhere(one)
                new = [file for file in found.files if file not in reached]
                reached.update(dict.fromkeys(new))
                waiting += new
        return tuple(reached)

    def surely_imported(self, at_most: int) -> list[str]:
        """The files of the tree that run whenever the script does: imported at the top of a file
        that does so itself, outside ``try`` and ``if``. They are parsed for it, up to ``at_most``
        bytes together."""
        found: dict[str, None] = {}
        waiting = [self.script]
        while waiting:
            importer = waiting.pop(0)
            sure = [one for one in self.imports(importer) if one.sure]
            for path in (path for one in sure for path in self._surely(one, importer)):
                if path in found or path == self.script:
                    continue
                at_most -= len(self.texts.read(path))
                if at_most < 0:
                    return list(found)
                found[path] = None
                waiting.append(path)
        return list(found)

    def _surely(self, one: Import, importer: str) -> list[str]:
        """The files of an import; ``from package import name`` is a module of the package only
        where the package itself has nothing of that name."""
        files = list(self.modules.find(one._replace(names=()), importer).files)
        own = b"".join(self.texts.read(path) for path in files)
        for name in one.names:
            if name != "*" and name.encode() not in own:
                files += self.modules.find(one._replace(names=(name,)), importer).files
        return files

    def near_imports(self, path: str) -> list[Import]:
        """The imports of a file: exact where it is parsed already or is the script."""
        if path == self.script or path in self.parsed:
            file = self._file(path)
            if file.tree is not None:
                return file.imports
        return python_file(self.texts.read(path)).near_imports

    def holds(self, path: str, pattern: re.Pattern[bytes]) -> bool:
        """Whether a file's text holds a match. Parses nothing."""
        return python_file(self.texts.read(path)).holds(pattern)

    def imports(self, path: str) -> list[Import]:
        """The imports of a file by its syntax tree; none where it has none."""
        return self._file(path).imports

    def tree(self, path: str) -> ast.Module | None:
        """The syntax tree of a file, to be read alone; None where it has none (see
        :meth:`syntax_error`)."""
        return self._file(path).tree

    def nodes(self, path: str) -> list[ast.AST]:
        """All nodes of that tree, the outer ones first; none where there is none."""
        return self._file(path).nodes

    def docstrings(self, path: str) -> dict[int, str]:
        """Strings that stand alone in that tree, by the identity of their node."""
        return self._file(path).docstrings

    def syntax_error(self, path: str) -> SyntaxError | None:
        """What this Python says against the file, or None."""
        parsed = self._file(path).parsed
        return parsed if isinstance(parsed, SyntaxError) else None

    def names(self, path: str) -> dict[str, int]:
        """Every dotted name that the code of a file imports or uses -> its first line."""
        return self._file(path).names

    def references(self, path: str) -> list[Reference]:
        """Every place where the code of a file uses a name."""
        return self._file(path).references

    def uses(self, *wanted: str) -> Use | None:
        """The first use of one of these dotted names, or of what lies below it, in the code of a
        reached file. ``uses("keras.ops", "tensorflow.keras.ops")``; comments and strings, and
        names that are made at run time (``getattr``), are not seen."""
        for path in self.files:
            content = self.texts.read(path)
            if not any(name.rpartition(".")[2].encode() in content for name in wanted):
                continue
            for used, line in self.names(path).items():
                if any(used == name or used.startswith(name + ".") for name in wanted):
                    return Use(path, line, used)
        return None

    def _file(self, path: str) -> PythonFile:
        """A file that is parsed for a question."""
        if path not in self.parsed:
            self.parsed[path] = python_file(self.texts.read(path))
        return self.parsed[path]


def facts_of(source: JobSource) -> SourceFacts | None:
    """The facts about a job's script; None where there is no script, or its folder is refused."""
    if errors(source.problems) or not source.script:
        return None
    return facts_in(source.bundle.texts, source.script)


def facts_in(texts: SourceTexts, script: str) -> SourceFacts | None:
    """The facts about a script of ``texts``; None where it is not there."""
    script = posixpath.normpath(script)
    if script not in texts:
        return None
    key = ("facts", script)
    if key not in texts.known:
        texts.known[key] = SourceFacts(texts, script)
    known: SourceFacts = texts.known[key]
    return known
