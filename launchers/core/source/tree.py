"""Reads a user's source tree: which files travel, which stay behind, and why.

Looks at names, sizes and links; the only contents it reads are ignore files and what may be a key
file. Nothing is changed, and the outcome does not depend on the order of a folder.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from launchers.core.catalogue import RULES
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.printable import is_utf8
from launchers.core.source import exclusions, outputs
from launchers.core.source.ignore_rules import IgnoreRules


class TreeFile(NamedTuple):
    """A file of the tree that travels.

    Attributes:
        path: Relative to the tree, with ``/``.
        size: Bytes; 0 for a link.
        executable: Whether its owner may execute it.
        link: For a symbolic link, its target inside the tree, relative to the link's folder.
    """

    path: str
    size: int
    executable: bool = False
    link: str = ""


class LeftOut(NamedTuple):
    """A file or folder (its path ends in ``/``) that stays behind.

    Attributes:
        path: Relative to the tree.
        why: The reason, as a phrase.
        notable: Whether a user would want to know; caches and version control are none.
    """

    path: str
    why: str
    notable: bool = True


@dataclass
class Tree:
    """What :func:`read_tree` found; ``files`` and ``left_out`` are sorted by path."""

    files: list[TreeFile] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def changed_while_read(path: str | Path) -> LaunchError:
    """The error for a source that is not the same at two looks."""
    return LaunchError(RULES["source-changed"].at(str(path), "changed while it was being read"))


def read_tree(root: Path, without: frozenset[str] = frozenset()) -> Tree:
    """Everything in ``root`` that travels.

    Args:
        root: The tree, absolute and without symbolic links in its own path.
        without: Names directly in ``root`` to pass over without a word.

    Returns:
        The tree. Symbolic links are kept as links where their target travels, too; a link to a
        place outside is a warning, since the script may need it.

    Raises:
        LaunchError: Something vanished on the way.
    """
    walk = _Walk(root)
    try:
        walk.run(without)
    except FileNotFoundError as error:
        raise changed_while_read(error.filename or root) from error
    walk.tree.files.sort(key=lambda file: file.path.encode())
    walk.tree.left_out.sort(key=lambda left: left.path)
    walk.tree.problems.sort(key=lambda problem: problem.path)
    return walk.tree


class _Walk:
    """One reading of a tree. Folders wait on a stack, so that no depth is too deep."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.tree = Tree()
        self.links: list[str] = []
        self.redirected = outputs.redirected_files()
        self.stack: list[tuple[str, IgnoreRules, str]] = []

    def run(self, without: frozenset[str]) -> None:
        try:
            rules = IgnoreRules.above(Path(self.root))
        except PermissionError as error:
            self._unreadable(str(error.filename))
            rules = IgnoreRules()
        self.stack.append(("", rules, ""))
        first = without
        while self.stack:
            self._folder(*self.stack.pop(), first)
            first = frozenset()
        self._links()

    def _folder(self, path: str, rules: IgnoreRules, why: str, without: frozenset[str]) -> None:
        """Reads the folder ``path`` (ends in ``/``; empty for the root)."""
        folder = os.path.join(self.root, path)
        try:
            with os.scandir(folder) as entries:
                found = {entry.name: entry for entry in entries if entry.name not in without}
            if path and exclusions.is_environment(found):
                self._leave(path, "a virtual environment")
                return
            rules = rules.entered(Path(folder), path, found, why)
        except PermissionError as error:
            self._unreadable(os.path.relpath(error.filename or folder, self.root))
            return
        for entry in found.values():
            self._entry(path, entry, rules)

    def _entry(self, parent: str, entry: os.DirEntry[str], rules: IgnoreRules) -> None:
        is_folder = entry.is_dir(follow_symlinks=False)
        path = parent + entry.name + ("/" if is_folder else "")
        never = exclusions.by_name(entry.name, is_folder)
        if never:
            self._leave(path, never)
            return
        if not is_utf8(entry.name):
            self._unnameable(path)
            return
        ignored = rules.why_ignored(path)
        if not ignored and self._is_left_behind(entry, is_folder, path, rules):
            return
        if ignored and not (is_folder and rules.brings_back_below(path)):
            self._leave(path, f"by {ignored}")
        elif is_folder:
            self.stack.append((path, rules, ignored))
        elif entry.is_symlink():
            self.links.append(path)
        else:
            self._file(path, entry)

    def _is_left_behind(
        self, entry: os.DirEntry[str], is_folder: bool, path: str, rules: IgnoreRules
    ) -> bool:
        """Whether it is what a tool or this command's shell has left here; it is noted then."""
        why = ""
        if not is_folder and self.redirected and entry.is_file(follow_symlinks=False):
            status = entry.stat(follow_symlinks=False)
            if (status.st_dev, status.st_ino) in self.redirected:
                why = outputs.REDIRECTED
        if not why and outputs.is_output(entry.path, entry.name, is_folder):
            why = outputs.OUTPUT
        if not why or rules.keeps(path) or (is_folder and rules.brings_back_below(path)):
            return False
        self._leave(path, why)
        return True

    def _file(self, path: str, entry: os.DirEntry[str]) -> None:
        status = entry.stat(follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            self._leave(path, "neither a file nor a folder")
            return
        if not os.access(entry.path, os.R_OK):
            self._unreadable(path)
            return
        key = exclusions.by_content(entry.path, status.st_size)
        if key:
            self._leave(path, key)
            return
        executable = bool(status.st_mode & stat.S_IXUSR)
        self.tree.files.append(TreeFile(path, status.st_size, executable))

    def _links(self) -> None:
        """Keeps the links whose target travels, as links to where they end up."""
        files = {file.path for file in self.tree.files}
        folders = {path[:at] for path in files for at, sign in enumerate(path) if sign == "/"}
        for path in self.links:
            place = os.path.join(self.root, path)
            target = os.path.realpath(place)
            inside = os.path.relpath(target, self.root)
            if not os.path.exists(place):
                self._leave(path, "a link that leads nowhere")
            elif inside.split(os.sep)[0] == os.pardir:
                self._leads_out(path, target)
            elif inside in files or inside in folders:
                link = os.path.relpath(target, os.path.dirname(place))
                self.tree.files.append(TreeFile(path, 0, link=link))
            else:
                self._leave(path, "a link to what is not sent")

    def _leave(self, path: str, why: str) -> None:
        noise = why in (exclusions.CACHE, exclusions.VERSION_CONTROL)
        self.tree.left_out.append(LeftOut(path, why, notable=not noise))

    def _leads_out(self, path: str, target: str) -> None:
        self._leave(path, "a link out of the source")
        self.tree.problems.append(
            RULES["source-link"].at(path, f"is a link to {target}, which is not sent")
        )

    def _unreadable(self, path: str) -> None:
        self.tree.problems.append(
            RULES["source-unreadable"].at(
                path,
                "cannot be read by this user",
                fix=f"Run `chmod u+rX {path}`, or name it in .launchignore",
            )
        )

    def _unnameable(self, path: str) -> None:
        self.tree.problems.append(
            RULES["source-name"].at(ascii(path).strip("'"), "has a name that is not UTF-8")
        )
