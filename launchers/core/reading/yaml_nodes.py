"""A YAML text as nodes with their lines, bounded while it is read.

PyYAML's own composer calls itself once a level and its values share what an alias names: a text
of some hundred bytes becomes gigabytes as soon as something walks it. Here the events are read
one by one, and depth, nodes and all that aliases stand for are counted first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from launchers.core.catalogue import RULES
from launchers.core.json_text import DEEPEST
from launchers.core.model.problems import LaunchError

MOST_NODES = 100_000
# Of the text of all scalars, each alias counted as what it stands for.
MOST_CHARACTERS = 16 << 20
LARGEST_CHARACTERS = 1 << 20


@dataclass
class Node:
    """A scalar, a sequence or a mapping.

    Attributes:
        kind: ``scalar``, ``sequence`` or ``mapping``.
        tag: As the text gives it, or None.
        content: A scalar's text, a sequence's nodes; a mapping's keys and values in turn.
        line, column: From 1.
        plain: Whether a scalar stands without quotes.
        nodes, characters, height: Of it and all inside, with aliases written out.
    """

    kind: str
    tag: str | None
    line: int
    column: int
    content: Any
    plain: bool = False
    nodes: int = 1
    characters: int = 0
    height: int = 0

    @property
    def pairs(self) -> Iterator[tuple[Node, Node]]:
        """A mapping's keys, each with its value."""
        return zip(self.content[::2], self.content[1::2], strict=True)


@contextmanager
def _errors_of(file: str, text: str) -> Iterator[None]:
    """Turns what PyYAML raises inside into a LaunchError with the line in ``file``."""
    import yaml

    try:
        yield
    except yaml.reader.ReaderError as error:
        odd = yaml.reader.Reader.NON_PRINTABLE.search(text)
        place = f"{file}:{text.count(chr(10), 0, odd.start()) + 1}" if odd else file
        raise LaunchError(RULES["file-yaml"].at(place, error.reason)) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        # libyaml sees an end too early one line below the last.
        place = f"{file}:{min(mark.line + 1, len(text.splitlines()))}" if mark else file
        reason = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        raise LaunchError(RULES["file-yaml"].at(place, reason)) from None


def compose(text: str, file: str) -> Node | None:
    """The one document in ``text``; None where there is none.

    Raises:
        LaunchError: As :func:`compose_all` has it, and where there is a second document.
    """
    nodes = compose_all(text, file)
    if len(nodes) > 1:
        place = f"{file}:{nodes[1].line}"
        raise LaunchError(RULES["file-yaml"].at(place, "a second document", "one document"))
    return nodes[0] if nodes else None


def compose_all(text: str, file: str) -> list[Node]:
    """Every document in ``text``.

    Raises:
        LaunchError: It is no YAML, or too much of it: above 1 MiB, 100 levels or 100,000 nodes,
            an anchor inside itself, aliases that stand for more than that.
    """
    import yaml

    if len(text) > LARGEST_CHARACTERS:
        size = LARGEST_CHARACTERS >> 20
        found, expected = f"more than {size} MiB of YAML", f"at most {size} MiB; JSON may be longer"
        raise LaunchError(RULES["file-too-large"].at(file, found, expected))
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    composer = _Composer(file)
    with _errors_of(file, text):
        for event in yaml.parse(text, Loader=loader):
            composer.take(event)
    return composer.roots


class _Composer:
    """Takes events; keeps what is open, and what was read."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.count = 0
        self.roots: list[Node] = []
        self.open: list[tuple[Node, str | None]] = []
        # None while the node is open: an alias inside it would have no end.
        self.anchors: dict[str, Node | None] = {}

    def take(self, event: Any) -> None:
        kind = type(event).__name__
        if kind == "ScalarEvent":
            node = self._node(event, "scalar", event.value)
            node.plain, node.characters = event.implicit[0], len(event.value)
            self._add(node, event.anchor)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            node = self._node(event, kind.removesuffix("StartEvent").lower(), [])
            node.height = 1
            self._check_depth(event.start_mark.line + 1, 1)
            if event.anchor:
                self.anchors[event.anchor] = None
            self.open.append((node, event.anchor))
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            self._add(*self.open.pop())
        elif kind == "AliasEvent":
            self._add(self._named(event), None)
        elif kind == "DocumentStartEvent":
            self.anchors.clear()

    def _named(self, event: Any) -> Node:
        """What an alias stands for."""
        place = f"{self.file}:{event.start_mark.line + 1}"
        if event.anchor not in self.anchors:
            found = f"the alias *{event.anchor} has no anchor"
            raise LaunchError(RULES["file-yaml"].at(place, found))
        node = self.anchors[event.anchor]
        if node is None:
            found, expected = f"&{event.anchor} holds itself", "an anchor that does not"
            raise LaunchError(RULES["file-too-large"].at(place, found, expected))
        self._check_depth(event.start_mark.line + 1, node.height)
        return node

    def _add(self, node: Node, anchor: str | None) -> None:
        if anchor:
            self.anchors[anchor] = node
        if not self.open:
            self.roots.append(node)
            self.count += node.nodes
            self._check_sum(node, self.count, node.characters)
            return
        parent, _ = self.open[-1]
        parent.content.append(node)
        parent.nodes += node.nodes
        parent.characters += node.characters
        parent.height = max(parent.height, node.height + 1)
        self._check_sum(node, parent.nodes, parent.characters)

    def _check_sum(self, node: Node, nodes: int, characters: int) -> None:
        if nodes > MOST_NODES or characters > MOST_CHARACTERS:
            found = "too many values by its aliases" if self.anchors else "too many values"
            expected = f"at most {MOST_NODES:,} values, aliases written out"
            place = f"{self.file}:{node.line}"
            raise LaunchError(RULES["file-too-large"].at(place, found, expected))

    def _check_depth(self, line: int, height: int) -> None:
        if len(self.open) + height > DEEPEST:
            found, expected = f"more than {DEEPEST} levels", f"at most {DEEPEST} levels"
            raise LaunchError(RULES["file-too-large"].at(f"{self.file}:{line}", found, expected))

    def _node(self, event: Any, kind: str, content: Any) -> Node:
        mark = event.start_mark
        return Node(kind, event.tag, mark.line + 1, mark.column + 1, content)
