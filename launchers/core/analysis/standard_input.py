"""Data that is piped into the command, and what becomes of it.

One rank on this machine gets the command's standard input as it is, as ``python SCRIPT`` would.
Several ranks cannot share it, and it does not travel to a cloud: a script that reads it would find
it empty, and the data would be lost without a word.

A pipe or file is no sign that somebody means the script: shells in CI get their own commands that
way, and a loop over a list has the rest of the list there. So a job is refused only where the
script's own text reads standard input and data lies ready. Nothing here reads it or waits for it.
"""

from __future__ import annotations

import ast
import os
import stat
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem

_READS = {"read", "readline", "readlines", "buffer", "detach"}


def is_given() -> bool:
    """Whether standard input is a pipe, a socket or a file: no terminal, no /dev/null, not
    closed."""
    if sys.stdin is None:  # closed when Python started; descriptor 0 may be something else now
        return False
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISREG(mode)


def has_data() -> bool:
    """Whether a read would give something now. Does not block, and takes nothing away."""
    if not is_given():
        return False
    try:
        status = os.fstat(0)
        if stat.S_ISREG(status.st_mode):
            return status.st_size > os.lseek(0, 0, os.SEEK_CUR)
        # Not on Windows, where a pipe does not say.
        import fcntl
        import termios

        answer = fcntl.ioctl(0, termios.FIONREAD, struct.pack("i", 0))
    except (OSError, ImportError):
        return False
    return bool(struct.unpack("i", answer)[0] > 0)


def problems(script: Path, where: str) -> list[Problem]:
    """What to tell before a job starts whose ranks get no standard input.

    Args:
        script: The script's file.
        where: Why they get none, as the rest of "standard input is not handed to ...".
    """
    if not is_given() or not reads_standard_input(script):
        return []
    ready = has_data()
    found = "data is waiting there" if ready else "it is a pipe or a file"
    return [
        RULES["stdin-lost"].at(
            "standard input",
            f"{found}, and {script.name} reads it; it is not handed to {where}",
            fix=f"save it and pass it on: launch ... {script.name} -- --data FILE; to start "
            "without it, add </dev/null",
            severity="error" if ready else "warning",
        )
    ]


def reads_standard_input(script: Path) -> bool:
    """Whether the script's own text reads it: ``input()``, ``sys.stdin.read()``, a loop over
    ``sys.stdin``, ``json.load(sys.stdin)``, ``open(0)``. What it imports is not looked at."""
    try:
        text = script.read_text(encoding="utf-8", errors="replace")
        if not any(word in text for word in ("stdin", "input(", "open(0")):
            return False
        tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    nodes = list(ast.walk(tree))
    own = {name for node in nodes for name in _names_defined(node)}
    return any(_reads(node, own) for node in nodes)


def _names_defined(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.alias):
        yield node.asname or node.name


def _reads(node: ast.AST, own: set[str]) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in _READS and _is_stdin(node.value, own)
    if isinstance(node, ast.For | ast.comprehension):
        return _is_stdin(node.iter, own)
    if not isinstance(node, ast.Call):
        return False
    if any(_is_stdin(argument, own) for argument in node.args):
        return True
    if not isinstance(node.func, ast.Name) or node.func.id in own:
        return False
    first = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
    opened = first == "/dev/stdin" or (type(first) is int and first == 0)
    return node.func.id == "input" or (node.func.id == "open" and opened)


def _is_stdin(node: ast.AST, own: set[str]) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "stdin" and isinstance(node.value, ast.Name) and node.value.id == "sys"
    return isinstance(node, ast.Name) and node.id == "stdin" and "stdin" in own
