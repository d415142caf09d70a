"""What only Keras 3 has, found in the syntax tree of one file."""

from __future__ import annotations

import ast
import os
from typing import NamedTuple

from launch_runtime.keras.names import NEW_PACKAGES, only_in_keras_3, version_of_file

_OTHER_BACKENDS = ("jax", "torch", "numpy", "openvino")


class Place(NamedTuple):
    """Where something stands: ``file`` relative to the source folder, ``line`` from 1."""

    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.what}"


class Reader(ast.NodeVisitor):
    """Finds what only Keras 3 has in one file.

    What stands in a ``try`` that expects its absence, or below a question for a version, is no
    need: such a script runs on both.

    Args:
        name: The file, for people.
        folder: The source folder, where model files are looked for.
    """

    def __init__(self, name: str, folder: str):
        self._name, self._folder = name, folder
        self._bound: dict[str, str] = {}  # a name of the file, and what it stands for
        self.new: Place | None = None
        self.legacy: Place | None = None

    def read(self, text: bytes) -> None:
        """Parses ``text``; a file that is no Python 3 uses nothing of Keras 3."""
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        try:
            self.visit(tree)
        except RecursionError:
            return

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            target = alias.name if alias.asname else alias.name.partition(".")[0]
            self._bound[alias.asname or target] = target
            self._check(alias.name, node, "imports")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or not node.module:
            return
        for alias in node.names:
            full = f"{node.module}.{alias.name}"
            self._bound[alias.asname or alias.name] = full
            self._check(full, node, "imports")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = self._dotted(node)
        if name:
            self._check(name, node, "uses")
        else:
            self.generic_visit(node)

    def visit_Try(self, node: ast.Try) -> None:
        if not any(_expects_absence(handler) for handler in node.handlers):
            self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if not _asks_for_a_version(node.test):
            self.generic_visit(node)

    visit_IfExp = visit_If  # type: ignore[assignment]  # noqa: N815

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                key = getattr(target.slice, "value", target.slice)  # up to 3.8 in an ast.Index
                self._variable(_text(key), _text(node.value), node)
            self._bind(target, node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._bind(node.target, node.value)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        arguments = [_text(argument) for argument in node.args]
        if called in ("setdefault", "putenv") and len(arguments) == 2:
            self._variable(arguments[0], arguments[1], node)
        if called == "load_model" and arguments and arguments[0].endswith(".keras"):
            self._model_file(arguments[0], node)
        self.generic_visit(node)

    def _dotted(self, node: ast.AST | None) -> str:
        """The whole name of ``a.b.c``; empty where nothing that was seen gave ``a`` a meaning."""
        words: list[str] = []
        while isinstance(node, ast.Attribute):
            words.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self._bound:
            return ""
        return ".".join([self._bound[node.id], *reversed(words)])

    def _bind(self, target: ast.AST, value: ast.AST | None) -> None:
        """Follows ``K = tf.keras``."""
        name = self._dotted(value)
        if name and isinstance(target, ast.Name):
            self._bound[target.id] = name

    def _variable(self, name: str, value: str, node: ast.AST) -> None:
        if name == "KERAS_BACKEND" and value in _OTHER_BACKENDS:
            self._found(node, f"sets KERAS_BACKEND={value}")
        if name == "TF_USE_LEGACY_KERAS" and self.legacy is None:
            word = "1" if value.lower() in ("1", "true") else "0"
            self.legacy = Place(self._name, node.lineno, word)  # type: ignore[attr-defined]

    def _model_file(self, path: str, node: ast.AST) -> None:
        beside = os.path.dirname(os.path.join(self._folder, self._name))
        for place in (self._folder, beside):
            version = version_of_file(os.path.join(place, path))
            if version and version.partition(".")[0] not in ("1", "2"):
                self._found(node, f"loads {path}, written by Keras {version}")
                return

    def _check(self, full: str, node: ast.AST, verb: str) -> None:
        name = full[len("tensorflow.") :] if full.startswith("tensorflow.") else full
        if name.partition(".")[0] in NEW_PACKAGES:
            self._found(node, f"{verb} {name.partition('.')[0]}")
        elif name.startswith("keras."):
            new = only_in_keras_3(name[len("keras.") :])
            if new:
                self._found(node, f"{verb} keras.{new}")

    def _found(self, node: ast.AST, what: str) -> None:
        if self.new is None:
            self.new = Place(self._name, node.lineno, what)  # type: ignore[attr-defined]


def _text(node: ast.AST | None) -> str:
    value = getattr(node, "value", getattr(node, "s", node))
    return value if isinstance(value, str) else ""


def _expects_absence(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    expected = ("ImportError", "ModuleNotFoundError", "AttributeError", "Exception")
    return any(getattr(kind, "id", "") in expected for kind in kinds)


def _asks_for_a_version(test: ast.AST) -> bool:
    for node in ast.walk(test):
        word = str(getattr(node, "attr", getattr(node, "id", ""))).lower()
        if "version" in word or word in ("hasattr", "type_checking") or "keras_3" in word:
            return True
    return False
