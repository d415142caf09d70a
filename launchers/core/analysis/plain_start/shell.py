"""The simple commands of a command line: behind programs that run another one, and in the script
of a shell. Nothing is run.

Variables count where the document or the script itself sets them; what only the machine knows
stays as it stands.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

SHELLS = ("sh", "bash", "dash", "zsh", "ash")
_FILE = Path(__file__).with_name("wrappers.json")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
# Words that begin something that is no simple command.
_CONTROL = {
    *("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac"),
    *("function", "select", "{", "}"),
}
# Stands for the output of another command.
SUBSTITUTED = "${__}"
# A shell in a shell in a shell ...
_DEPTH = 4


@dataclass(frozen=True)
class Command:
    """One simple command.

    Attributes:
        words: Its program and arguments, without what stands before the program.
        after: What stands between it and the next: ``;``, ``&&``, ``||``, ``|``, ``&`` or nothing.
        variables: Those that are known when it starts.
        expanded: Whether a shell read it, and put values for its variables.
    """

    words: tuple[str, ...]
    after: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    expanded: bool = False


@dataclass(frozen=True)
class CommandLine:
    """What a container runs.

    Attributes:
        commands: In order.
        text: The shell's script; empty where no shell reads one.
        unread: Why it cannot be read; empty where it can.
        behind: The words behind a shell's ``-c SCRIPT``, the first of them its ``$0``.
    """

    commands: tuple[Command, ...] = ()
    text: str = ""
    unread: str = ""
    behind: tuple[str, ...] = ()


def command_line(
    words: Sequence[str], variables: Mapping[str, str] | None = None, depth: int = 0
) -> CommandLine:
    """The simple commands that ``words`` run; ``variables`` are the environment as far as known.

    Example:
        >>> line = command_line(["bash", "-c", "cd /app && env A=1 timeout 60 python t.py"])
        >>> [command.words for command in line.commands]
        [('cd', '/app'), ('python', 't.py')]
    """
    known = dict(variables or {})
    words = behind_wrappers(words, known)
    if not words:
        return CommandLine(unread="nothing is named to run")
    if base(words[0]) not in SHELLS:
        return CommandLine((Command(tuple(words), variables=known),))
    at = next((i for i, word in enumerate(words) if re.fullmatch(r"-\w*c", word)), 0)
    first = next((i for i, word in enumerate(words[1:], 1) if not word.startswith("-")), 0)
    if not at or (first and first < at):
        named = words[first] if first else "its standard input"
        return CommandLine(unread=f"{named[:60]}, a script in the image, may start anything")
    if at + 1 >= len(words):
        return CommandLine(unread="a shell without a script")
    # bash -ec 'a; b' ends at the first failure, as with set -e.
    text = f"set -e\n{words[at + 1]}" if "e" in words[at] else words[at + 1]
    return _in_script(text, tuple(words[at + 2 :]), known, depth)


def behind_wrappers(words: Sequence[str], variables: dict[str, str] | None = None) -> list[str]:
    """``env A=1 timeout 60 uv run torchrun ...`` without what stands before the program.

    Args:
        variables: Takes what is assigned on the way.

    Example:
        >>> behind_wrappers(["A=1", "timeout", "-k", "5", "60", "uv", "run", "python", "t.py"])
        ['python', 't.py']
    """
    left = list(words)
    while left:
        assigned = _ASSIGNMENT.fullmatch(left[0])
        if assigned:
            if variables is not None:
                variables[assigned[1]] = assigned[2]
            left = left[1:]
            continue
        row = _wrappers().get(base(left[0]))
        behind = row.get("behind") if row is not None else None
        if row is None or (behind and behind not in left[1:]):
            return left
        left = left[left.index(behind) + 1 :] if behind else left[1:]
        left = _behind_options(left, row)
    return left


def base(word: str) -> str:
    """``horovodrun`` of ``/usr/local/bin/horovodrun``."""
    return word.rpartition("/")[2]


def is_python(word: str) -> bool:
    """Whether the word names a Python interpreter."""
    return re.fullmatch(r"python[\d.]*", base(word)) is not None


def _behind_options(words: list[str], row: Mapping[str, Any]) -> list[str]:
    """What stands behind a wrapper's own options and words."""
    takes = row.get("takes", ())
    left, given = list(words), set()
    while left and left[0].startswith("-"):
        option = left.pop(0)
        if option == "--":
            break
        given.add(option)
        if option in takes:
            left = left[1:]
    own = row.get("words", 0)
    without = row.get("words_without", ())
    if without and not given.intersection(without):
        own += 1
    return left[own:]


def _in_script(
    text: str, behind: tuple[str, ...], known: dict[str, str], depth: int
) -> CommandLine:
    unread = ""
    found: list[Command] = []
    for words, after in _simple_commands(text):
        if words[0] in _CONTROL or words[0].startswith("(") or words[0].endswith("()"):
            unread = "a shell script with conditions, loops or functions may start anything"
            continue
        words = _with_values(words, behind, known)
        if words and words[0] == "export":
            behind_wrappers(words[1:], known)
            continue
        own = dict(known)
        left = behind_wrappers(words, own)
        if not left:
            known.update(own)  # A=1 alone stays set.
            continue
        if base(left[0]) in SHELLS and depth < _DEPTH:
            inner = command_line(left, own, depth + 1)
            unread = unread or inner.unread
            found += inner.commands[:-1]
            if inner.commands:
                last = inner.commands[-1]
                found.append(Command(last.words, after or last.after, last.variables, True))
        else:
            found.append(Command(tuple(left), after, own, True))
    if not found and not unread:
        unread = "a shell script that cannot be read"
    return CommandLine(tuple(found), text, unread, behind)


def _with_values(
    words: Sequence[str], behind: Sequence[str], known: Mapping[str, str]
) -> list[str]:
    """The words with the values of variables that are known, and ``"$@"``."""
    result: list[str] = []
    for word in words:
        if word == "$@":
            result += behind[1:]
            continue
        whole = _VARIABLE.fullmatch(word)
        value = _VARIABLE.sub(lambda match: known.get(match[1] or match[2], match[0]), word)
        result += value.split() if whole and value != word else [value]
    return result


def _simple_commands(text: str) -> list[tuple[list[str], str]]:
    """The simple commands of a script, each with the separator behind it; none of a script whose
    quotes don't close."""
    text = _without_substitutions(text)
    for pattern, instead in _NOT_COMMANDS:
        text = re.sub(pattern, instead, text)
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";|&\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    commands: list[tuple[list[str], str]] = []
    words: list[str] = []
    try:
        tokens = list(lexer)
    except ValueError:
        return []
    for token in tokens:
        if token.strip(";|&\n"):
            words.append(token)
        elif words:
            commands.append((words, token.strip("\n") or "\n"))
            words = []
    return [*commands, (words, "")] if words else commands


# Continued lines, comments, and an & that belongs to a redirection.
_NOT_COMMANDS = ((r"\\\n", " "), (r"(^|\s)#[^\n]*", r"\1"), (r"(?<!\d)\d*[<>]&[\d-]|&>>?", " > "))


def _without_substitutions(text: str) -> str:
    """``$(...)`` and ``\\`...\\``` replaced by a variable that nobody sets."""
    result, depth, at = [], 0, 0
    while at < len(text):
        if text.startswith("$(", at):
            depth += 1
            result += [SUBSTITUTED] if depth == 1 else []
            at += 2
            continue
        character = text[at]
        if depth:
            depth += {"(": 1, ")": -1}.get(character, 0)
        else:
            result.append(character)
        at += 1
    return re.sub(r"`[^`]*`", SUBSTITUTED, "".join(result))


@lru_cache(maxsize=1)
def _wrappers() -> Mapping[str, Mapping[str, Any]]:
    table: dict[str, Mapping[str, Any]] = json.loads(_FILE.read_bytes())["wrappers"]
    return table
