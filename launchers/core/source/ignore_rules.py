"""The ignore files of a source tree: `.gitignore` as git reads it, `.launchignore` on top.

Both have git's syntax and may stand in every folder; a deeper file wins over a higher one and a
later line over an earlier one. What a `.launchignore` says, either way, overrides every
`.gitignore`. A folder that is left out is not entered, so nothing in it can be brought back, with
one exception: a line of a `.launchignore` that names a path in such a folder
(``!data/small.csv``) brings that path back.

Git's own files outside the tree (``core.excludesFile``, ``info/exclude``) are not read: they
differ between machines. The `.gitignore` files of the folders above, up to the repository's root,
are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from launchers.core.catalogue import RULES
from launchers.core.model.problems import LaunchError

# Each line is an expression that every path is held against.
_LARGEST_BYTES = 1 << 20
LAUNCHIGNORE = ".launchignore"
GITIGNORE = ".gitignore"


class _RuleFile(NamedTuple):
    """One ignore file.

    Attributes:
        origin: Its path for a message, such as ``data/.gitignore``.
        above: What comes before a path of the tree to make it relative to this file's folder
            (for a file above the tree; ends in ``/``).
        below: How many characters of a path of the tree lead to this file's folder.
        patterns: Regular expression and meaning (``True`` leaves out) of each line, last first.
        brought_back: The parts of each path that a line ``!some/path`` names.
    """

    origin: str
    above: str
    below: int
    patterns: tuple[tuple[re.Pattern[str], bool], ...]
    brought_back: tuple[tuple[str, ...], ...]

    def verdict(self, path: str) -> bool | None:
        """``True`` to leave ``path`` out, ``False`` to keep it, ``None`` where no line matches."""
        return self.verdict_here(self.above + path[self.below :])

    def verdict_here(self, path: str) -> bool | None:
        """As :meth:`verdict`, for a path relative to this file's own folder."""
        return next((out for regex, out in self.patterns if _is_meant(regex, path)), None)


@dataclass(frozen=True)
class IgnoreRules:
    """The rules that are in force in one folder; those of the deepest folder last.

    Attributes:
        git: The `.gitignore` files.
        launch: The `.launchignore` files.
        inherited: Which file leaves the folder itself out, when it is entered all the same for
            the sake of a path that a `.launchignore` brings back; else empty.
    """

    git: tuple[_RuleFile, ...] = ()
    launch: tuple[_RuleFile, ...] = ()
    inherited: str = ""

    @classmethod
    def above(cls, root: Path) -> IgnoreRules:
        """The rules that hold in ``root`` because of the repository around it.

        None where ``root`` is in no repository, is one itself, or lies in a part of one that
        these rules leave out: who names such a folder as the source wants it.

        Raises:
            OSError: An ignore file cannot be read.
        """
        top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
        way = root.relative_to(top).parts
        files: list[_RuleFile] = []
        for depth in range(len(way)):
            path = top.joinpath(*way[:depth], GITIGNORE)
            if path.is_file():
                origin = "../" * (len(way) - depth) + GITIGNORE
                files.append(_read(path, origin, above="/".join(way[depth:]) + "/"))
            if _leaves_out(files, steps_down=len(way) - depth - 1):
                return cls()
        return cls(git=tuple(files))

    def entered(self, folder: Path, path: str, names: Collection[str], why: str) -> IgnoreRules:
        """The rules inside ``folder``.

        Args:
            folder: Where it lies.
            path: The same, relative to the tree, ending in ``/``; empty for the tree itself.
            names: What it holds.
            why: What becomes ``inherited``.

        Raises:
            OSError: An ignore file cannot be read.
        """
        git, launch = self.git, self.launch
        if GITIGNORE in names and _is_plain_file(folder / GITIGNORE):
            git += (_read(folder / GITIGNORE, path + GITIGNORE, below=len(path)),)
        if LAUNCHIGNORE in names and _is_plain_file(folder / LAUNCHIGNORE):
            launch += (_read(folder / LAUNCHIGNORE, path + LAUNCHIGNORE, below=len(path)),)
        return IgnoreRules(git, launch, why)

    def why_ignored(self, path: str) -> str:
        """The ignore file that leaves ``path`` out; empty when it is kept.

        Args:
            path: Relative to the tree; a folder's ends in ``/``.
        """
        verdict, origin = _verdict(self.launch, path)
        if verdict is None and self.inherited:
            return self.inherited
        if verdict is None:
            verdict, origin = _verdict(self.git, path)
        return origin if verdict else ""

    def keeps(self, path: str) -> bool:
        """Whether a `.launchignore` says that ``path`` travels."""
        return _verdict(self.launch, path)[0] is False

    def brings_back_below(self, path: str) -> bool:
        """Whether a `.launchignore` names a path inside the folder ``path``, to keep it."""
        for file in self.launch:
            parts = path[file.below :].rstrip("/").split("/")
            for named in file.brought_back:
                if "**" in named[: len(parts)]:
                    return True
                pairs = zip(parts, named, strict=False)
                if len(named) > len(parts) and all(fnmatchcase(*pair) for pair in pairs):
                    return True
        return False


def _verdict(files: Sequence[_RuleFile], path: str) -> tuple[bool | None, str]:
    for file in reversed(files):
        verdict = file.verdict(path)
        if verdict is not None:
            return verdict, file.origin
    return None, ""


def _leaves_out(files: Sequence[_RuleFile], *, steps_down: int) -> bool:
    """Whether ``files`` leave out the folder that lies ``steps_down`` above the tree's root."""
    for file in reversed(files):
        way = file.above.rstrip("/").split("/")
        verdict = file.verdict_here("/".join(way[: len(way) - steps_down]) + "/")
        if verdict is not None:
            return verdict
    return False


def _is_meant(regex: re.Pattern[str], path: str) -> bool:
    """Whether a pattern matches ``path`` itself, and not merely a folder above it.

    The library's expressions match whatever lies in a matched folder, too, and mark the slash
    after that folder as their one group. Here each folder is asked before it is entered, as git
    does it, and lines for folders and for files must count alike.
    """
    match = regex.search(path)
    if match is None:
        return False
    at_the_end = path.endswith("/") and match.end() == len(path)
    if match.lastindex is None:
        return not at_the_end  # `data/**` means what is in data, not data
    # `*/` is the mark alone and stops at the first folder: look at the last one, too.
    return at_the_end or (path.endswith("/") and bool(regex.search(path, len(path) - 1)))


def _is_plain_file(path: Path) -> bool:
    """Git reads no ignore file through a link, so that a tree's rules are its own."""
    return path.is_file() and not path.is_symlink()


def _read(path: Path, origin: str, *, above: str = "", below: int = 0) -> _RuleFile:
    with path.open("rb") as stream:
        data = stream.read(_LARGEST_BYTES + 1)
    if len(data) > _LARGEST_BYTES:
        found, expected = "more than 1 MiB", "an ignore file of at most 1 MiB"
        raise LaunchError(RULES["file-too-large"].at(origin, found, expected))
    text = data.decode("utf-8-sig", "replace")
    lines = [line.rstrip("\r") for line in text.split("\n")]
    named = tuple(
        tuple(line[1:].strip().strip("/").split("/"))
        for line in lines
        if line.startswith("!") and "/" in line[1:].strip().rstrip("/")
    )
    return _RuleFile(origin, above, below, _compile(lines), named)


def _compile(lines: list[str]) -> tuple[tuple[re.Pattern[str], bool], ...]:
    try:
        return _patterns(lines)
    except ValueError:  # git passes over a line that it cannot read, and so do we
        return _patterns(line for line in lines if _is_readable(line))


def _is_readable(line: str) -> bool:
    try:
        _patterns([line])
    except ValueError:
        return False
    return True


def _patterns(lines: Iterable[str]) -> tuple[tuple[re.Pattern[str], bool], ...]:
    # Imported on use: it costs more than reading a small tree, and many trees have no rules.
    from pathspec import GitIgnoreSpec

    # The library takes `d/**/` for `d/`; git means the folders below d.
    spelled_out = (re.sub(r"/\*\*/(?=\s*$)", "/**/*/", line) for line in lines)
    patterns = GitIgnoreSpec.from_lines(spelled_out).patterns
    return tuple(
        (pattern.regex, pattern.include)
        for pattern in reversed(list(patterns))
        if pattern.regex is not None and pattern.include is not None
    )
