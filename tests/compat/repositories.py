"""Gets a public script at its commit: from local copies, or from GitHub into the cache folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "launch" / "compat"


class NotThereError(Exception):
    """A script that cannot be had, with the reason in a line."""


def text_of(repository: str, commit: str, path: str, copies: Path | None) -> str:
    """The file ``path`` of ``repository`` at ``commit``.

    Args:
        copies: A folder with a git folder OWNER+NAME.git for each repository; None for GitHub,
            which may block for as long as the download takes.

    Raises:
        NotThereError: No such copy, commit or file, or no way to GitHub.
    """
    folder = _copy(repository, copies) if copies else _fetched(repository, commit)
    return _git(folder, "show", f"{commit}:{path}", why=f"{repository}: {path}")


def _copy(repository: str, copies: Path) -> Path:
    folder = copies / f"{repository.replace('/', '+')}.git"
    if not folder.is_dir():
        raise NotThereError(f"{repository}: no copy at {folder}")
    return folder


def _fetched(repository: str, commit: str) -> Path:
    folder = CACHE / f"{repository.replace('/', '+')}.git"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        _git(folder.parent, "init", "-q", "--bare", folder.name, why=repository)
    known = subprocess.run(
        ["git", f"--git-dir={folder}", "cat-file", "-e", f"{commit}^{{commit}}"],
        capture_output=True,
        check=False,
    )
    if known.returncode:
        address = f"https://github.com/{repository}.git"
        _git(folder, "fetch", "-q", "--depth=1", address, commit, why=repository)
    return folder


def _git(folder: Path, *words: str, why: str) -> str:
    """What git prints, in ``folder``; a git folder is read as one."""
    place = [f"--git-dir={folder}"] if folder.suffix == ".git" else ["-C", str(folder)]
    done = subprocess.run(
        ["git", *place, *words],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
        check=False,
    )
    if done.returncode:
        raise NotThereError(f"{why}: {done.stderr.strip().splitlines()[-1:] or 'git failed'}")
    return done.stdout
