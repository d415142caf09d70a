"""What makes a script's ranks train together, as far as its source shows: Horovod, something else,
nothing, or more than can be read.

Horovod is looked for first, in the script and then in the files that it reaches, and only files
that hold the word are parsed. Where it is not found, everything that is reached is read exactly,
because "no Horovod" is said only when nothing is left that could bring it.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from launchers.core.analysis.facts import SourceFacts
from launchers.core.analysis.python_imports import Import, imports, literal
from launchers.core.strategies.horovod import MENTION, NAME

HOROVOD, OTHER, NONE, UNSEEN = "horovod", "other", "none", "unseen"

# A tree with more Python to read than this is not judged.
_READ_BYTES = 3_000_000
# Settings that a script may read and act on; files of tools are none.
_SETTINGS = (".yaml", ".yml", ".json", ".toml", ".ini", ".cfg", ".conf", ".gin", ".env", ".sh")
_TOOLS = {
    *("launch.yaml", "pyproject.toml", "setup.cfg", "tox.ini", "package.json"),
    *("environment.yml", "environment.yaml", "conda.yml", "conda.yaml"),
    *("docker-compose.yml", "docker-compose.yaml", ".pre-commit-config.yaml"),
}


@dataclass(frozen=True)
class Sight:
    """What was seen.

    Attributes:
        kind: One of the words above.
        why: Where that was seen, as a phrase: ``train.py:3 imports horovod.torch``. Of ``unseen``
            what could not be followed.
        other: The title of another strategy whose use was seen, with or without Horovod unseen.
        other_use: Where, as ``why``.
        instead: What to do with that one.
        files: How many files were read.
    """

    kind: str
    why: str = ""
    other: str = ""
    other_use: str = ""
    instead: str = ""
    files: int = 1


def search(
    facts: SourceFacts, said: Sequence[str] = (), absent: Collection[str] = frozenset()
) -> Sight:
    """What the source shows. Reads files, parses those that it must, changes nothing.

    Args:
        said: The script's arguments and the job's variables, which may choose Horovod.
        absent: Top-level modules of the folder that do not travel.
    """
    found = imported(facts, facts.script)
    if found:
        return Sight(HOROVOD, found)
    for look in (imported, mention):
        for path in facts.files:
            found = look(facts, path)
            if found:
                return Sight(HOROVOD, found)
    for word in said:
        if MENTION.search(word.encode()):
            return Sight(HOROVOD, f"named in {word[:40]!r}")
    return _Thorough(facts, absent).run()


def imported(facts: SourceFacts, path: str) -> str:
    """Where the code of a file imports Horovod, or an empty string."""
    if not MENTION.search(facts.texts.read(path)):
        return ""
    names = facts.names(path).items()
    found = [(line, name) for name, line in names if name.partition(".")[0] == NAME]
    if not found:
        return ""
    line, name = min(found)
    return f"{path}:{line} imports {name}"


def mention(facts: SourceFacts, path: str) -> str:
    """Where the code of a file names Horovod, or an empty string. Comments and docstrings name
    nothing; any other string does, since it may be a setting."""
    if not MENTION.search(facts.texts.read(path)):
        return ""
    found = imported(facts, path)
    if found:
        return found
    tree = facts.tree(path)
    if tree is None:
        return f"{path} names it"
    texts = _docstrings(tree)
    for node in ast.walk(tree):
        word = "" if id(node) in texts else _word_of(node)
        if word and MENTION.search(word.encode("utf-8", "replace")):
            shown = repr(word[:40]) if isinstance(node, ast.Constant) else word
            return f"{path}:{getattr(node, 'lineno', 1)} has {shown}"
    return ""


class _Thorough:
    """Reads every file that the script reaches, exactly."""

    def __init__(self, facts: SourceFacts, absent: Collection[str]) -> None:
        from launchers.core.analysis.without_horovod import packages_without_horovod
        from launchers.core.strategies import strategies

        self.facts, self.absent = facts, absent
        self.known = packages_without_horovod()
        self.strategies = strategies()
        self.reached = dict.fromkeys([facts.script, *facts.modules.packages_of(facts.script)])
        self.open_ends: list[str] = []
        self.read_bytes = 0
        self.other: tuple[int, str, str, str] | None = None

    def run(self) -> Sight:
        """Read until Horovod is found or nothing is left."""
        waiting = list(self.reached)
        while waiting:
            path = waiting.pop(0)
            found = mention(self.facts, path)
            if found:
                return Sight(HOROVOD, found)
            self.read_bytes += len(self.facts.texts.read(path))
            if self.read_bytes > _READ_BYTES:
                self.open_ends.append(f"{path} and more: too much to read")
                break
            new = [one for one in self._file(path) if one not in self.reached]
            self.reached.update(dict.fromkeys(new))
            waiting += dict.fromkeys(new)
        _, other, use, instead = self.other or (0, "", "", "")
        why = self.open_ends or self._named_in_text() or self._named_in_settings()
        kind = UNSEEN if why else OTHER if other else NONE
        return Sight(kind, why[0] if why else "", other, use, instead, len(self.reached))

    def _file(self, path: str) -> list[str]:
        """Notes what a file uses and where it leads further than can be read; gives what it
        reaches."""
        from launchers.core.analysis.python_open_ends import open_ends, started_files

        tree = self.facts.tree(path)
        if tree is None:
            self.open_ends.append(f"{path} cannot be parsed")
            return []
        self.open_ends += [
            f"{path}:{end.line} {end.words}" for end in open_ends(tree, self.facts.texts.paths)
        ]
        self._note_strategy(path)
        found = [file for one in imports(tree) for file in self._follow(one, path)]
        return [*found, *started_files(tree, self.facts.texts.paths)]

    def _note_strategy(self, path: str) -> None:
        names = self.facts.names(path)
        for rank, strategy in enumerate(self.strategies):
            if self.other is not None and self.other[0] <= rank:
                return
            shown = strategy.shown_by(names)
            if shown:
                use = f"{path}:{names[shown]} uses {shown}"
                self.other = (rank, strategy.title, use, strategy.instead)

    def _follow(self, one: Import, path: str) -> tuple[str, ...]:
        found = self.facts.modules.find(one, path)
        top = one.module.partition(".")[0]
        name = "." * one.level + one.module
        if found.compiled:
            self.open_ends.append(f"{path}:{one.line} imports {name}, which is not Python source")
        if found.files or found.complete or found.compiled:
            return found.files
        if not one.level and not one.path:
            if top in self.known and top not in self.absent:
                return ()
            found = self.facts.modules.find_anywhere(one)
            if found.complete and not found.compiled:
                return found.files
        lies = "stays behind" if top in self.absent else "is not in the source"
        verb = "runs" if one.path else "imports"
        self.open_ends.append(f"{path}:{one.line} {verb} {name}, which {lies}")
        return found.files

    def _named_in_text(self) -> list[str]:
        """Docstrings that name it: no use, and yet the author had it in mind."""
        for path in self.reached:
            tree = self.facts.tree(path)
            if tree is None or not MENTION.search(self.facts.texts.read(path)):
                continue
            if MENTION.search(" ".join(_docstrings(tree).values()).encode("utf-8", "replace")):
                return [f"{path} names it in a text, and no code does"]
        return []

    def _named_in_settings(self) -> list[str]:
        texts = self.facts.texts
        for path in sorted(texts.paths):
            is_settings = path.endswith(_SETTINGS) and posixpath.basename(path) not in _TOOLS
            if is_settings and MENTION.search(texts.glance(path)):
                return [f"{path} names it, which the script may read"]
        return []


def _docstrings(tree: ast.Module) -> dict[int, str]:
    """Strings that stand alone, by the identity of their node."""
    return {
        id(node.value): literal(node.value) or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and literal(node.value) is not None
    }


def _word_of(node: ast.AST) -> str:
    """The name or the string that a node itself holds."""
    if isinstance(node, ast.Constant):
        value = node.value
        return value.decode("latin-1") if isinstance(value, bytes) else str(value)
    for attribute in ("id", "attr", "name", "arg", "module"):
        word = getattr(node, attribute, None)
        if isinstance(word, str):
            return word
    return " ".join(getattr(node, "names", [])) if isinstance(node, ast.Global) else ""
