"""The files that a command line names: names, globs, standard input."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence

from launchers.cli.catalogue import RULES
from launchers.core.model.problems import Problem

_WILD = frozenset("*?[")


def files_of(words: Sequence[str]) -> tuple[list[str], list[tuple[str, Problem]]]:
    """Each file once, in the order of the words; and what is wrong with a word.

    ``**`` is any number of folders; hidden files and folders take a pattern that begins with a dot.
    A name that exists is that file, whatever characters it has.
    """
    files: dict[str, str] = {}
    wrong: list[tuple[str, Problem]] = []
    for word in words:
        if word == "-":
            files.setdefault("-", "-")
        elif os.path.isdir(word):
            wrong.append((word, _folder(word)))
        elif os.path.lexists(word) or not _WILD & set(word):
            files.setdefault(os.path.abspath(word), word)
        else:
            found = sorted(path for path in glob.glob(word, recursive=True) if _is_file(path))
            if not found:
                wrong.append((word, RULES["check-no-file"].at(word, "no such file")))
            for path in found:
                files.setdefault(os.path.abspath(path), path)
    return list(files.values()), wrong


def _is_file(path: str) -> bool:
    # A pattern takes no pipe and no device along; a name may mean one.
    return os.path.isfile(path)


def _folder(word: str) -> Problem:
    within = os.path.join(word.rstrip(os.sep) or os.sep, "**", "*")
    fix = f"launch check '{within}.json' '{within}.yaml'"
    return RULES["check-folder"].at(word, "a folder", fix=fix)


def project_root() -> str:
    """The folder that reports' paths are relative to: the nearest above with ``.git``, else the
    working folder."""
    here = folder = os.getcwd()
    while not os.path.exists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return here
        folder = above
    return folder
