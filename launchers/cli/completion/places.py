"""Where a shell looks for completions of its user, and putting them there and away again.

Bash: bash-completion's folder for a user (its README: "completions" in BASH_COMPLETION_USER_DIR),
from which a command's file is read at its first use; zsh: a file of ours that .zshrc reads; fish:
the folder of completions beside config.fish, read at a command's first use (fish's "Where to put
completions"). Folders are those of the XDG Base Directory Specification.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from launchers.core.paths import writing

COMMANDS = ("launch", "launch-training")
_BEGIN, _END = "# >>> launch completion >>>", "# <<< launch completion <<<"
_BLOCK = re.compile(rb"\n?# >>> launch completion >>>\n.*?# <<< launch completion <<<\n", re.DOTALL)
# Without compinit zsh has no completion; a second one would only take time.
_ZSH = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"
_FIX = "`launch completion show SHELL` prints the script, for a place of your own"


@dataclass(frozen=True)
class Place:
    """Where a shell finds the completions.

    Attributes:
        files: The scripts; the same text in each, where the shell looks by the command's name.
        rc: The shell's start file, where it may have to be told; else None.
        lines: What it is told there; empty where it need not be.
    """

    files: tuple[Path, ...]
    rc: Path | None = None
    lines: str = ""

    def install(self, script: str) -> list[Path]:
        """Write what is not there yet; gives the files that were changed.

        Raises:
            LaunchError: One of them cannot be written.
        """
        changed = []
        for file in self.files:
            if _content(file) != script.encode():
                with writing(file, _FIX):
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(script, encoding="utf-8")
                changed.append(file)
        if self.rc is not None and self.lines and self._written_to(self.rc):
            changed.append(self.rc)
        return changed

    def remove(self) -> list[Path]:
        """Take away what :meth:`install` wrote; gives the files that were changed.

        Raises:
            LaunchError: One of them cannot be changed.
        """
        changed = []
        for file in self.files:
            if os.path.lexists(file):
                with writing(file):
                    file.unlink()
                changed.append(file)
        before = _content(self.rc) if self.rc is not None else b""
        if self.rc is not None and (after := _BLOCK.sub(b"", before)) != before:
            with writing(self.rc):
                self.rc.write_bytes(after)
            changed.append(self.rc)
        return changed

    def _written_to(self, rc: Path) -> bool:
        """Put the block at the file's end, in place of an older one; all else stays as it is."""
        block = f"\n{_BEGIN}\n{self.lines}{_END}\n".encode()
        before = _content(rc)
        if block.lstrip() in before:
            return False
        kept = _BLOCK.sub(b"", before)
        if kept and not kept.endswith(b"\n"):
            kept += b"\n"
        with writing(rc, _FIX):
            rc.parent.mkdir(parents=True, exist_ok=True)
            rc.write_bytes(kept + block)
        return True


def place_of(shell: str, environment: Mapping[str, str] | None = None) -> Place:
    """The place of this user's completions."""
    environment = os.environ if environment is None else environment
    home = Path(environment.get("HOME") or Path.home())
    data = _folder(environment, "XDG_DATA_HOME", home / ".local" / "share")
    if shell == "fish":
        config = _folder(environment, "XDG_CONFIG_HOME", home / ".config")
        return Place(tuple(config / "fish" / "completions" / f"{name}.fish" for name in COMMANDS))
    if shell == "zsh":
        file = data / "zsh" / "site-functions" / "_launch"
        rc = Path(environment.get("ZDOTDIR") or home) / ".zshrc"
        return Place((file,), rc, _ZSH + _sourced(file))
    named = environment.get("BASH_COMPLETION_USER_DIR", "").partition(":")[0]
    folder = Path(named) if named else data / "bash-completion"
    files = tuple(folder / "completions" / name for name in COMMANDS)
    rc = home / ".bashrc"
    return Place(files, rc, "" if _looks_there(rc) else _sourced(files[0]))


def _looks_there(rc: Path) -> bool:
    """Whether an interactive bash loads bash-completion: its start files name it."""
    named = re.compile(rb"^[^#\n]*bash_completion", re.MULTILINE)
    return any(named.search(_content(file)) for file in (rc, Path("/etc/bash.bashrc")))


def _sourced(file: Path) -> str:
    path = shlex.quote(str(file))
    return f"[ ! -r {path} ] || . {path}\n"


def _folder(environment: Mapping[str, str], name: str, usual: Path) -> Path:
    """XDG's folders count where they are absolute."""
    named = environment.get(name, "")
    return Path(named) if os.path.isabs(named) else usual


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""
