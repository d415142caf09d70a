"""What a source tree uses of Keras and Horovod, read without importing anything of it.

The guard uses it in the rank, the launcher loads this same file for the plan: one reading on both
sides. Only files that the script reaches by its imports are opened, and only those that may use
what Keras 3 alone has are parsed.
"""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import zipfile
from typing import Iterator, NamedTuple

FILES, BYTES = 2000, 8 << 20  # of one source; what lies beyond is not read
_NAMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "keras_names.json")
_NEW_PACKAGES = ("keras_core", "keras_hub", "keras_rs")  # they import Keras 3 themselves
_OTHER_BACKENDS = ("jax", "torch", "numpy", "openvino")

_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|[^#\n]*)|import[ \t]+([^#\n]+))",
    re.MULTILINE,
)
# Each begins with a literal or a word, so that the search is quick; _first() looks at the line.
_KERAS = re.compile(
    rb"\b(?:from|import)[ \t][\w., \t]*?\bkeras\b"
    rb"|\b(?:tf|tensorflow)(?:\.compat\.v[12])?\.keras\.\w"
)
_HOROVOD = re.compile(rb"horovod\b")
_WRAPPER = re.compile(
    rb"\b(Distributed(?:Optimizer|GradientTape)|BroadcastGlobalVariablesCallback"
    rb"|MetricAverageCallback|LearningRate(?:Warmup|Schedule)Callback)\s*\("
)
# What is directly in keras has everyday names (random, tree, Variable); these are their two forms.
_AT_THE_ROOT = (
    r"\bkeras\.(?:{names})\b|\bkeras[ \t]+as\b"
    r"|from[ \t]+[\w.]*\bkeras[ \t]+import[ \t]*(?:\([^)]*|[^\n]*)\b(?:{names})\b"
)
_MODEL_FILES = (b".keras'", b'.keras"')
_VARIABLES = (b"KERAS_BACKEND", b"TF_USE_LEGACY_KERAS")
_WORDS = bytes(code if chr(code).isalnum() or chr(code) == "_" else 32 for code in range(128))
_WORDS += b" " * 128


class Place(NamedTuple):
    """Where something stands: ``file`` relative to the source folder, ``line`` from 1."""

    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.what}"


class Use(NamedTuple):
    """What the files that a script reaches use; None for what none of them does.

    Attributes:
        keras: The first line that names Keras, as ``keras``, ``tf.keras`` or Horovod's.
        horovod: The first line that names Horovod.
        wrapper: The first call of a wrapper or callback that Horovod has for Keras.
        new: The first use of what only Keras 3 has.
        legacy: The first line that sets TF_USE_LEGACY_KERAS; ``what`` is ``0`` or ``1``.
    """

    keras: Place | None = None
    horovod: Place | None = None
    wrapper: Place | None = None
    new: Place | None = None
    legacy: Place | None = None


def scan(folder: str, script: str) -> Use:
    """Reads the files of the tree ``folder`` that ``script``, relative to it, reaches."""
    script = script.replace(os.sep, "/")
    found: dict[str, Place | None] = dict.fromkeys(Use._fields)
    for path, text in _reached(folder, script):
        name = os.path.relpath(path, folder).replace(os.sep, "/")
        for key, pattern in (("keras", _KERAS), ("horovod", _HOROVOD), ("wrapper", _WRAPPER)):
            match = None if found[key] else _first(pattern, text)
            if match:
                line = text.count(b"\n", 0, match.end()) + 1
                found[key] = Place(name, line, match.group(match.lastindex or 0).decode().strip())
        if found["new"] is None and _may_be_new(text):
            reader = _Reader(name, folder)
            reader.read(text)
            found["new"] = reader.new
            found["legacy"] = found["legacy"] or reader.legacy
    return Use(**found)


def _first(pattern: re.Pattern[bytes], text: bytes) -> re.Match[bytes] | None:
    """The first match that stands in no comment."""
    for match in pattern.finditer(text):
        if b"#" not in text[text.rfind(b"\n", 0, match.start()) + 1 : match.start()]:
            return match
    return None


def only_in_keras_3(name: str) -> str:
    """The part of ``name`` (without the leading ``keras.``) that Keras 2 lacks; "" for none."""
    words = name.split(".")
    starts = (".".join(words[: count + 1]) for count in range(len(words)))
    return next((start for start in starts if start in _names()), "")


def parents_of_new_names() -> dict[str, list[str]]:
    """The modules below ``keras`` (the root is ``""``), and what of each only Keras 3 has."""
    with open(_NAMES, encoding="utf-8") as file:
        table: dict[str, list[str]] = json.load(file)["names"]
    return table


def version_of_file(path: str) -> str:
    """The Keras that wrote a ``.keras`` file, ``3.15.1``; "" where the file does not say."""
    try:
        with zipfile.ZipFile(path) as archive:
            metadata = json.loads(archive.read("metadata.json"))
        return str(metadata.get("keras_version") or "")
    except (OSError, KeyError, ValueError, AttributeError, zipfile.BadZipFile):
        return ""


@functools.lru_cache(maxsize=None)
def _names() -> frozenset[str]:
    return frozenset(
        f"{parent}.{name}".lstrip(".")
        for parent, names in parents_of_new_names().items()
        for name in names
    )


class _Signs(NamedTuple):
    """Words of which a file that needs Keras 3 has at least one."""

    below: frozenset[bytes]  # of names below keras.layers and the like
    root: frozenset[bytes]  # of those directly in keras
    form: re.Pattern[bytes]  # of their use
    other: frozenset[bytes]


@functools.lru_cache(maxsize=None)
def _signs() -> _Signs:
    below = frozenset(name.rpartition(".")[2].encode() for name in _names() if "." in name)
    root = sorted(name for name in _names() if "." not in name)
    form = re.compile(_AT_THE_ROOT.replace("{names}", "|".join(root)).encode())
    other = frozenset([*_VARIABLES, *(name.encode() for name in _NEW_PACKAGES)])
    return _Signs(below, frozenset(name.encode() for name in root), form, other)


def _may_be_new(text: bytes) -> bool:
    """Whether it is worth parsing: quick, and never False where :class:`_Reader` finds something
    that is written in the usual way."""
    if b"keras" not in text and b"KERAS" not in text:
        return False
    signs = _signs()
    words = frozenset(text.translate(_WORDS).split())
    if words & signs.below or words & signs.other or any(end in text for end in _MODEL_FILES):
        return True
    return bool(words & signs.root and signs.form.search(text))


# --- which files ---------------------------------------------------------------------------------


def _reached(folder: str, script: str) -> Iterator[tuple[str, bytes]]:
    """The script and the files of the tree that its imports lead to, each with its text."""
    start = os.path.join(folder, script)
    roots = [os.path.dirname(start), folder]
    # Run as a module it imports its packages first.
    parts = script.split("/")[:-1]
    packages = [
        os.path.join(folder, *parts[:count], "__init__.py") for count in range(1, len(parts) + 1)
    ]
    waiting, left = [start, *filter(os.path.isfile, packages)], BYTES
    seen = set(waiting)
    while waiting and left > 0 and len(seen) <= FILES:
        path = waiting.pop(0)
        try:
            with open(path, "rb") as file:
                text = file.read(left)
        except OSError:
            continue
        left -= len(text)
        yield path, text
        for other in _imported(path, text, roots):
            if other not in seen:
                seen.add(other)
                waiting.append(other)


def _imported(path: str, text: bytes, roots: list[str]) -> Iterator[str]:
    for match in _IMPORT.finditer(text):
        source, names, modules = (
            part.decode("utf-8", "replace") if part else "" for part in match.groups()
        )
        if modules:
            for module in modules.split(","):
                words = module.split()
                if words:
                    yield from _files(words[0], roots)
            continue
        level = len(source) - len(source.lstrip("."))
        places = roots
        if level:
            place = os.path.dirname(path)
            for _ in range(level - 1):
                place = os.path.dirname(place)
            places = [place]
        module = source.lstrip(".")
        if module:
            yield from _files(module, places)
        for name in re.findall(r"(\w+)(?:\s+as\s+\w+)?\s*(?:,|\)|\\|#.*|$)", names, re.MULTILINE):
            yield from _files(f"{module}.{name}" if module else name, places)


def _files(module: str, roots: list[str]) -> Iterator[str]:
    words = [word for word in module.split(".") if word]
    for root in dict.fromkeys(roots):
        place = root
        for word in words:
            place = os.path.join(place, word)
            for candidate in (f"{place}.py", os.path.join(place, "__init__.py")):
                if os.path.isfile(candidate):
                    yield candidate


# --- what one file uses --------------------------------------------------------------------------


class _Reader(ast.NodeVisitor):
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
        words: list[str] = []
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute):
            words.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id in self._bound:
            self._check(".".join([self._bound[inner.id], *reversed(words)]), node, "uses")
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
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        arguments = [_text(argument) for argument in node.args]
        if called in ("setdefault", "putenv") and len(arguments) == 2:
            self._variable(arguments[0], arguments[1], node)
        if called == "load_model" and arguments and arguments[0].endswith(".keras"):
            self._model_file(arguments[0], node)
        self.generic_visit(node)

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
        if name.partition(".")[0] in _NEW_PACKAGES:
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
