"""Which dotted names the code of a file uses, its own short names for them resolved."""

from __future__ import annotations

import ast
from typing import NamedTuple

# Assignments such as `layers = keras.layers` are followed so many deep.
_DEPTH = 3


def names_used(tree: ast.Module) -> dict[str, int]:
    """Every dotted name that the file imports or uses -> its first line.

    ``from tensorflow import keras as K`` and ``K.ops.relu(x)`` give ``tensorflow.keras`` and
    ``tensorflow.keras.ops.relu``; ``from a import *`` gives ``a.*``. Comments and strings give
    nothing. A name is resolved as if every import of the file stood at its top; one that nothing
    in the file imports is left out. Relative imports keep their dots (``.models.build``).
    """
    nodes = list(ast.walk(tree))
    used: dict[str, int] = {}
    meanings = _meanings(nodes, used)
    for node in nodes:
        if isinstance(node, ast.Attribute | ast.Name):
            name = dotted(node, meanings)
            if name:
                _note(used, name, node.lineno)
    return used


class Reference(NamedTuple):
    """A place where code uses a name, apart from importing it.

    Attributes:
        name: As :func:`names_used` has it; of a call whose name nothing in the file imports, the
            last part alone (``init`` of ``self.backend.init()``).
        call: Where it is called.
    """

    name: str
    line: int
    call: ast.Call | None = None


def references(tree: ast.Module) -> list[Reference]:
    """Every such place, in no order."""
    nodes = list(ast.walk(tree))
    meanings = _meanings(nodes, {})
    calls = {id(node.func): node for node in nodes if isinstance(node, ast.Call)}
    found = []
    for node in nodes:
        if isinstance(node, ast.Attribute | ast.Name):
            call = calls.get(id(node))
            name = dotted(node, meanings)
            if not name and call is not None:
                name = node.attr if isinstance(node, ast.Attribute) else node.id
            if name:
                found.append(Reference(name, node.lineno, call))
    return found


def meanings_of(tree: ast.Module) -> dict[str, str]:
    """The file's own names -> the dotted names that they stand for, ``K`` -> ``keras``."""
    return _meanings(list(ast.walk(tree)), {})


def dotted(node: ast.AST, meanings: dict[str, str]) -> str:
    """The whole name of ``a.b.c``, or an empty string where ``a`` was not imported."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in meanings:
        return ""
    return ".".join([meanings[node.id], *reversed(parts)])


def _meanings(nodes: list[ast.AST], used: dict[str, int]) -> dict[str, str]:
    meanings = _imported(nodes, used)
    for _ in range(_DEPTH):
        if not _assigned(nodes, meanings):
            break
    return meanings


def _imported(nodes: list[ast.AST], used: dict[str, int]) -> dict[str, str]:
    """The file's own names -> what they stand for; notes the imports in ``used``."""
    meanings: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                _note(used, alias.name, node.lineno)
                own = alias.asname or alias.name.partition(".")[0]
                meanings[own] = alias.name if alias.asname else own
        elif isinstance(node, ast.ImportFrom):
            source = "." * node.level + (node.module or "")
            for alias in node.names:
                whole = f"{source.rstrip('.')}.{alias.name}" if node.module else source + alias.name
                _note(used, whole, node.lineno)
                meanings[alias.asname or alias.name] = whole
    return meanings


def _assigned(nodes: list[ast.AST], meanings: dict[str, str]) -> bool:
    """Adds what plain assignments give a name to; says whether there was anything new."""
    new = False
    for node in nodes:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id not in meanings:
            whole = dotted(node.value, meanings)
            if whole:
                meanings[target.id] = whole
                new = True
    return new


def _note(used: dict[str, int], name: str, line: int) -> None:
    used[name] = min(line, used.get(name, line))
