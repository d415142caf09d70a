"""What one Python file imports: exactly from its syntax tree, or nearly from its lines."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple


class Import(NamedTuple):
    """One import of a file.

    Attributes:
        module: ``pkg.sub``; empty in ``from . import x``.
        level: Leading dots of a relative import.
        names: Of ``from module import names``; none of a plain import.
        line: Where it stands; 0 where that was not found out.
        sure: It runs whenever the file does, and nothing catches its failure.
        path: Not a module but a file, ``runpy.run_path("prepare.py")``.
    """

    module: str
    level: int = 0
    names: tuple[str, ...] = ()
    line: int = 0
    sure: bool = False
    path: bool = False


_STATEMENT = re.compile(
    r"(?:^|[;:])[ \t]*(?:from[ \t]+(?P<dots>\.*)[ \t]*(?P<source>[\w.]*)[ \t]+import[ \t]*"
    r"(?P<names>\([^)]*\)|[^\n;#]*)|import[ \t]+(?P<modules>[^\n;#]+))",
    re.MULTILINE,
)
_CALL = re.compile(r"\b(import_module|__import__|run_module|run_path)\(\s*[\"']([\w./-]+)[\"']")
_WORD = re.compile(r"[\w.]+|\*")


def near_imports(content: bytes) -> list[Import]:
    """The imports that the lines of a file show, without parsing it: all that there are, and
    perhaps more (an import in a string counts)."""
    if b"import" not in content and b"run" not in content:
        return []
    text = content.decode("utf-8", "replace").replace("\\\n", " ").replace("\\\r\n", " ")
    found = []
    for match in _STATEMENT.finditer(text):
        if match["modules"]:
            modules = (_WORD.match(part.strip()) for part in match["modules"].split(","))
            found += [Import(module[0]) for module in modules if module]
            continue
        lines = re.sub(r"#.*", "", match["names"]).strip("() \t")
        names = (_WORD.match(part.strip()) for part in lines.split(","))
        level = len(match["dots"])
        found.append(Import(match["source"], level, tuple(name[0] for name in names if name)))
    found += [_called(match[1], match[2], 0) for match in _CALL.finditer(text)]
    return found


def imports(tree: ast.Module) -> list[Import]:
    """The imports of a parsed file, with those that are calls with a literal name."""
    sure = set(map(id, _unconditional(tree.body)))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [
                Import(alias.name, 0, (), node.lineno, id(node) in sure) for alias in node.names
            ]
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            found.append(
                Import(node.module or "", node.level, names, node.lineno, id(node) in sure)
            )
        elif isinstance(node, ast.Call):
            name, text = called_name(node), literal(node.args[0]) if node.args else None
            if text and name in ("import_module", "__import__", "run_module", "run_path"):
                found.append(_called(name, text, node.lineno))
    return found


def called_name(call: ast.Call) -> str:
    """``import_module`` of ``importlib.import_module(...)``; empty where a call has no name."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def literal(node: ast.AST) -> str | None:
    """The text of a string that is written out, or None."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


def _called(function: str, text: str, line: int) -> Import:
    if function == "run_path":
        return Import(text, line=line, path=True)
    level = len(text) - len(text.lstrip("."))
    return Import(text[level:], level, line=line)


def _unconditional(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run whenever the file does."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.With):
            yield from _unconditional(statement.body)
