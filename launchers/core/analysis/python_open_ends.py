"""Where the code of a file leads to code that nobody can name before it runs."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

from launchers.core.analysis.python_imports import called_name, literal
from launchers.core.analysis.python_names import dotted, meanings_of
from launchers.core.analysis.without_horovod import programs_without_horovod

# Functions that load what is named when they run, by their last name.
_LOADERS = {
    "import_module",
    "__import__",
    "run_module",
    "run_path",
    "execfile",
    "spec_from_file_location",
    "SourceFileLoader",
    "exec_module",
    "load_module",
    "load_source",
    "load_dynamic",
    "walk_packages",
    "iter_modules",
    "entry_points",
    "iter_entry_points",
    "addsitedir",
    "load_op_library",
    "load_library",
}
_LOADERS_WHOLE = {"pydoc.locate", "torch.hub.load"}
_EVALUATORS = {"exec", "eval"}
_STARTERS = re.compile(
    r"subprocess\.(?:run|call|check_call|check_output|Popen|getoutput|getstatusoutput)"
    r"|(?:os|posix|commands)\.(?:system|popen\d?|exec\w+|spawn\w+|posix_spawnp?|getoutput)"
    r"|pty\.spawn|asyncio\.create_subprocess_(?:exec|shell)|torch\.distributed\.(?:run|launch)\.\w+"
)
_PYTHON = re.compile(r"(?:.*/)?python[\d.]*$")


class OpenEnd(NamedTuple):
    """A place that leads further than can be read.

    Attributes:
        line: In its file.
        words: What it does there, ``imports a module whose name is made at run time``.
    """

    line: int
    words: str


def open_ends(tree: ast.Module, files: frozenset[str]) -> list[OpenEnd]:
    """Every such place in the code of a file.

    Args:
        files: Those of the source tree: a command that runs one of them is followed
            (:func:`started_files`).
    """
    meanings = meanings_of(tree)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            words = _of_call(node, meanings, files)
            if words:
                found.append(OpenEnd(node.lineno, words))
        elif isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any("sys.path" in _names_in(target, meanings) for target in targets):
                found.append(OpenEnd(node.lineno, "changes sys.path"))
    return found


def started_files(tree: ast.Module, files: frozenset[str]) -> list[str]:
    """The Python files of the tree that a string of the code names, as commands do."""
    found = []
    for node in ast.walk(tree):
        text = literal(node)
        if text and ".py" in text:
            found += [path for word in text.split() if (path := _tree_file(word, files))]
    return list(dict.fromkeys(found))


def _of_call(call: ast.Call, meanings: dict[str, str], files: frozenset[str]) -> str:
    name = called_name(call)
    whole = dotted(call.func, meanings) or name
    first = call.args[0] if call.args else None
    if name in _LOADERS or whole in _LOADERS_WHOLE:
        if name in ("import_module", "__import__", "run_module", "run_path") and first is not None:
            return "" if literal(first) else "loads a module whose name is made at run time"
        return f"loads code by {name}()"
    if isinstance(call.func, ast.Name) and name in _EVALUATORS:
        if first is not None and _is_opened_literal(first, files):
            return ""
        return f"runs code by {name}()"
    if whole.startswith(("sys.path.", "site.")) and name in ("insert", "append", "extend"):
        return "changes sys.path"
    if _STARTERS.fullmatch(whole) and not _is_harmless(call, meanings, files):
        return f"starts a program by {whole}()"
    return ""


def _is_opened_literal(node: ast.expr, files: frozenset[str]) -> bool:
    """``open("part.py").read()``, with or without compile(): its string is followed."""
    texts = [literal(one) for one in ast.walk(node)]
    return any(text and _tree_file(text, files) for text in texts)


def _is_harmless(call: ast.Call, meanings: dict[str, str], files: frozenset[str]) -> bool:
    """Whether every command runs a program without code of the user's, or a file of the tree."""
    commands = list(_commands(call, meanings))
    return bool(commands) and all(_is_harmless_command(words, files) for words in commands)


def _is_harmless_command(words: list[str], files: frozenset[str]) -> bool:
    while words and re.fullmatch(r"\w+=\S*|sudo|nohup|time|env", words[0]):
        words = words[1:]
    if not words:
        return True
    if not _PYTHON.match(words[0]):
        return words[0].rpartition("/")[2] in programs_without_horovod()
    rest = words[1:]
    if rest[:2] in (["-m", "pip"], ["-m", "ensurepip"]):
        return True
    script = next((word for word in rest if not word.startswith("-")), "")
    return rest[:1] != ["-m"] and bool(_tree_file(script, files))


def _commands(call: ast.Call, meanings: dict[str, str]) -> Iterator[list[str]]:
    """The commands that a call starts, as words; of a text that is put together, what stands
    before the first part that is not written out. Nothing where the program is not known."""
    first = call.args[0] if call.args else None
    if isinstance(first, ast.List | ast.Tuple):
        words = [_word(part, meanings) for part in first.elts]
        if words and words[0]:
            yield [word if word is not None else "?" for word in words]
        return
    text = _start_of_text(first)
    for part in re.split(r"&&|\|\||[;|\n&]", text):
        if part.strip():
            yield part.split()


def _word(node: ast.expr, meanings: dict[str, str]) -> str | None:
    return "python" if dotted(node, meanings) == "sys.executable" else literal(node)


def _start_of_text(node: ast.expr | None) -> str:
    if node is None:
        return ""
    if isinstance(node, ast.BinOp):
        return _start_of_text(node.left)
    if isinstance(node, ast.JoinedStr):
        return _start_of_text(node.values[0]) if node.values else ""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _start_of_text(node.func.value) if node.func.attr in ("format", "split") else ""
    return literal(node) or ""


def _names_in(node: ast.AST, meanings: dict[str, str]) -> set[str]:
    return {dotted(one, meanings) for one in ast.walk(node)}


def _tree_file(word: str, files: frozenset[str]) -> str:
    """The file of the tree that a word of a command names, or an empty string."""
    if not word.endswith(".py"):
        return ""
    path = posixpath.normpath(word).lstrip("./")
    if path in files:
        return path
    name = posixpath.basename(path)
    return next((one for one in sorted(files) if posixpath.basename(one) == name), "")
