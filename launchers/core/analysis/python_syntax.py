"""What keeps a file from being a Python script at all: a notebook, nothing in it, a syntax error.

A syntax error is what this launcher's Python says. The ranks may have a newer one, so an error
that a newer syntax explains is none (:class:`Fault` with ``certain`` False).
"""

from __future__ import annotations

import ast
import json
import re
import sys
import warnings
from typing import NamedTuple

# A longer script is parsed and not compiled as well.
_COMPILED_BYTES = 256_000
_MAGIC = re.compile(r"\s*(?:%{1,2}[A-Za-z]\w*|![\w./~]|\?{1,2}\w)|[^#'\"]*\w\?{1,2}\s*$")
_PYTHON_2 = re.compile(
    r"\s*print\s+[^=(\s]|\s*exec\s+[\"'\w]|\s*raise\s+[\w.]+\s*,|.*<>|\s*except\s+[\w.]+\s*,\s*"
    r"(?:e|ex|exc|err|error)\s*:"
)
# What depends on the Python that reads: its codecs, its limits, the features that it knows.
_OTHERS_MAY_READ = re.compile(
    r"unknown encoding|encoding problem|future feature|too many|too complex|Exceeds the limit"
)
# Syntax that came with a version -> what a line with it looks like. docs.python.org, What's New.
_NEWER = {
    (3, 11): r"\s*except\s*\*|.*\[[^\]]*\*\s*\w|.*\*\w+\s*:\s*\*",
    (
        3,
        12,
    ): r"\s*type\s+\w+|\s*(?:async\s+)?def\s+\w+\s*\[|\s*class\s+\w+\s*\[|.*\b[rR]?[fF][rR]?[\"']",
    (3, 13): r"\s*type\s+\w+|\s*(?:async\s+)?def\s+\w+\s*\[|\s*class\s+\w+\s*\[",
    (3, 14): r"\s*except\s+[\w.]+\s*,|.*\b[rR]?[tT][rR]?[\"']",
    (3, 15): r"\s*lazy\s+(?:import|from)\b|.*[\[{(]\s*\*",
}


class Fault(NamedTuple):
    """Why a file does not run as a script.

    Attributes:
        kind: ``notebook``, ``magic``, ``empty``, ``binary``, ``shell``, ``old`` (Python 2) or
            ``syntax``.
        line: Where; 0 for the file as a whole.
        text: What stands there, or what Python says.
        certain: No Python runs it.
    """

    kind: str
    line: int = 0
    text: str = ""
    certain: bool = True


def fault_of_script(
    path: str, content: bytes, tree: ast.Module | None, error: SyntaxError | None
) -> Fault | None:
    """Why the file cannot be what a job runs, or None.

    Args:
        tree: Its syntax tree, where it has one.
        error: Else what Python says.
    """
    shape = _shape(path, content)
    if shape:
        return shape
    if error is not None:
        return fault_of_error(content, error)
    if tree is None:
        return None
    if all(_does_nothing(statement) for statement in tree.body):
        text = "holds nothing but comments" if content.strip() else "is empty"
        return Fault("empty", text="holds nothing but text" if tree.body else text)
    late = _error_when_compiled(tree) if len(content) <= _COMPILED_BYTES else None
    return fault_of_error(content, late) if late else _exported_magic(tree)


def fault_of_error(content: bytes, error: SyntaxError) -> Fault:
    """What a syntax error means for ranks whose Python is another than ours."""
    line = error.lineno or 0
    lines = content.decode("utf-8", "replace").splitlines()
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    said = str(error.msg)
    if _MAGIC.match(text):
        return Fault("magic", line, text.strip()[:60])
    if _OTHERS_MAY_READ.search(said):
        return Fault("syntax", line, said, certain=False)
    # What a newer Python reads is often found wrong a line before or after it.
    near = lines[max(0, line - 3) : line + 2]
    if _is_old(text, said):
        return Fault("old", line, text.strip()[:60] or said)
    newer = [version for version in _NEWER if sys.version_info[:2] < version]
    explained = any(re.match(_NEWER[version], one) for version in newer for one in near)
    return Fault("syntax", line, said, certain=not explained)


def _shape(path: str, content: bytes) -> Fault | None:
    """What the first bytes and the name say."""
    start = content.lstrip()[:1]
    if path.endswith(".ipynb") or (start == b"{" and b'"nbformat"' in content):
        return Fault("notebook") if _is_notebook(path, content) else None
    if b"\0" in content[:8192]:
        return Fault("binary")
    first = content.partition(b"\n")[0]
    if re.match(rb"#!.*\b(?:ba|z|k|da)?sh\b", first) and not path.endswith(".py"):
        return Fault("shell", 1, first.decode("utf-8", "replace").strip())
    return None


def _is_notebook(path: str, content: bytes) -> bool:
    try:
        read = json.loads(content)
    except ValueError:
        return path.endswith(".ipynb")
    return isinstance(read, dict) and ("nbformat" in read or "cells" in read)


def _does_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Pass)


def _error_when_compiled(tree: ast.Module) -> SyntaxError | None:
    """What is wrong with a tree that could be read, such as ``return`` outside a function."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(tree, "script", "exec", dont_inherit=True)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError, OverflowError):
        return None
    return None


def _exported_magic(tree: ast.Module) -> Fault | None:
    """``get_ipython().system(...)``, as nbconvert writes a notebook's own lines: there is no such
    function where a script runs."""
    for statement in tree.body:
        for node in ast.walk(statement) if isinstance(statement, ast.Expr) else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "get_ipython":
                names = {getattr(one, "name", "") for one in ast.walk(tree)}
                if names & {"get_ipython"}:
                    return None
                return Fault("magic", node.lineno, ast.unparse(statement)[:60])
    return None


def _is_old(line: str, said: str) -> bool:
    parentheses = "Missing parentheses in call to" in said
    return parentheses or bool(_PYTHON_2.match(line))
