"""Answers a shell's question, what could stand where the cursor is, in click's forms."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
)

from launchers.cli.completion import VARIABLE

Split = Callable[[list[str]], tuple[list[str], Any]]

if TYPE_CHECKING:
    Base = ShellComplete
else:
    Base = object


class _OurWords(Base):
    """Our own reading of a command line: what follows ``--`` is the script's."""

    split: Split

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """As click does, from our words; the script's own arguments are files, if anything."""
        if "--" in args:
            return [CompletionItem(incomplete, type="file")]
        args, value_of = _joined(args)
        args, _ = self.split(args)
        return super().get_completions([*args, *value_of], incomplete)


class _Bash(_OurWords, BashComplete):
    def format_completion(self, item: CompletionItem) -> str:
        """A value with a blank in it is quoted, since bash writes it as it is."""
        return f"{item.type},{shlex.quote(item.value) if item.type == 'plain' else item.value}"


class _Zsh(_OurWords, ZshComplete):
    pass


class _Fish(_OurWords, FishComplete):
    pass


SHELLS: dict[str, type[_OurWords]] = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}


def asked(shell: str, command: click.Command, split: Split) -> ShellComplete:
    """The one that answers a shell's questions.

    Args:
        command: The whole command.
        split: Gives our words of a line, and the script's.
    """
    found = SHELLS[shell](command, {"obj": {"arguments": None}}, "launch", VARIABLE)
    found.split = split
    return found


def complete(command: click.Command, split: Split) -> int:
    """Print what is offered for the line in the environment. A line that is wrong so far, or what
    cannot be read, gets nothing: whoever presses the key is in the middle of a line."""
    shell, _, what = os.environ[VARIABLE].partition("_")
    if shell not in SHELLS or what != "complete":
        return 1
    try:
        print(asked(shell, command, split).complete())
    except Exception:
        return 1
    return 0


def _joined(args: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words with those joined that bash parts at ``=``; and a flag whose value is asked for."""
    words: list[str] = []
    for word in args:
        if words and (word == "=" or words[-1].endswith("=")) and words[-1].startswith("--"):
            words[-1] += word
        else:
            words.append(word)
    if words and words[-1].startswith("--") and words[-1].endswith("="):
        return words[:-1], [words[-1][:-1]]
    return words, []
