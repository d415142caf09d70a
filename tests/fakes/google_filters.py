"""Google's filter language, as far as Cloud Logging's and Vertex AI's lists share it.

NOT binds closest, then OR, then AND; terms beside each other are joined by AND. Source: Google,
"Logging query language" and AIP-160.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tests.fakes.google_wire import refused
from tests.fakes.wire import ServiceError

_TOKEN = re.compile(
    r'\s+|--[^\n]*|("(?:[^"\\]|\\.)*")|(=~|!~|!=|<=|>=|[=<>:()])|([^\s()=<>!:"~]+|-)'
)
_ESCAPE = re.compile(r"\\(.)")
_Thing = TypeVar("_Thing")
Predicate = Callable[[_Thing], bool]


@dataclass(frozen=True)
class Comparison:
    """``field operator value``; a search for a text has neither field nor operator."""

    field: str
    operator: str
    value: str


@dataclass(frozen=True)
class Not:
    """What does not match."""

    node: Node


@dataclass(frozen=True)
class All:
    """What matches all of them."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True)
class Some:
    """What matches one of them at least."""

    nodes: tuple[Node, ...]


Node = Comparison | Not | All | Some
_EVERYTHING, _NOTHING = All(()), Some(())


def parse(text: str) -> Node:
    """The filter; an empty one takes everything.

    Raises:
        ServiceError: It is not in the language.
    """
    reader = _Reader(text)
    if reader.ended:
        return All(())
    node = reader.every()
    if not reader.ended:
        raise reader.wrong()
    return node


def predicate(node: Node, compare: Callable[[Comparison], Predicate[_Thing]]) -> Predicate[_Thing]:
    """Whether a thing matches, when ``compare`` says so for each comparison."""
    if isinstance(node, Comparison):
        return compare(node)
    if isinstance(node, Not):
        inner = predicate(node.node, compare)
        return lambda thing: not inner(thing)
    parts = [predicate(one, compare) for one in node.nodes]
    if isinstance(node, All):
        return lambda thing: all(part(thing) for part in parts)
    return lambda thing: any(part(thing) for part in parts)


def settled(node: Node, decide: Callable[[Comparison], bool | None]) -> Node:
    """What is left of it where ``decide`` knows the answer to some comparisons; None for those
    that it does not know. ``All(())`` matches everything, ``Some(())`` nothing."""
    if isinstance(node, Comparison):
        answer = decide(node)
        return node if answer is None else _EVERYTHING if answer else _NOTHING
    if isinstance(node, Not):
        inner = settled(node.node, decide)
        if inner in (_EVERYTHING, _NOTHING):
            return _NOTHING if inner == _EVERYTHING else _EVERYTHING
        return Not(inner)
    parts = [settled(one, decide) for one in node.nodes]
    dull, final = (_EVERYTHING, _NOTHING) if isinstance(node, All) else (_NOTHING, _EVERYTHING)
    if final in parts:
        return final
    left = tuple(part for part in parts if part != dull)
    return left[0] if len(left) == 1 else type(node)(left)


def conjuncts(node: Node) -> list[Node]:
    """What all has to match."""
    if isinstance(node, All):
        return [inner for one in node.nodes for inner in conjuncts(one)]
    return [node]


def text_matches(operator: str, value: str, exact_case: bool = False) -> Predicate[str]:
    """A text's comparison; Cloud Logging does not tell a from A but in regular expressions."""
    if operator in ("=~", "!~"):
        pattern = re.compile(value)
        return lambda text: (pattern.search(text) is None) == (operator == "!~")

    def fold(text: str) -> str:
        return text if exact_case else text.lower()

    wanted = fold(value)
    tests: dict[str, Predicate[str]] = {
        "=": lambda text: fold(text) == wanted,
        "!=": lambda text: fold(text) != wanted,
        ":": lambda text: wanted in fold(text),
        "<": lambda text: fold(text) < wanted,
        "<=": lambda text: fold(text) <= wanted,
        ">": lambda text: fold(text) > wanted,
        ">=": lambda text: fold(text) >= wanted,
    }
    return tests[operator]


def number_matches(operator: str, value: int) -> Predicate[int]:
    """A number's or a time's comparison."""
    tests: dict[str, Predicate[int]] = {
        "=": lambda number: number == value,
        "!=": lambda number: number != value,
        "<": lambda number: number < value,
        "<=": lambda number: number <= value,
        ">": lambda number: number > value,
        ">=": lambda number: number >= value,
    }
    if operator not in tests:
        raise refused("INVALID_ARGUMENT", f"Operator {operator} does not compare times")
    return tests[operator]


class _Reader:
    """Tokens, read from the left."""

    def __init__(self, text: str):
        self._text, self._at = text, 0
        self._tokens: list[tuple[str, str]] = []
        position = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise self.wrong(text[position:])
            position = match.end()
            for kind, said in zip(("string", "sign", "word"), match.groups(), strict=True):
                if said is not None:
                    self._tokens.append((kind, said))

    @property
    def ended(self) -> bool:
        return self._at >= len(self._tokens)

    def every(self) -> Node:
        nodes = [self._some()]
        while not self.ended and self._peek() != ("sign", ")"):
            if self._peek() == ("word", "AND"):
                self._at += 1
            nodes.append(self._some())
        return nodes[0] if len(nodes) == 1 else All(tuple(nodes))

    def _some(self) -> Node:
        nodes = [self._single()]
        while not self.ended and self._peek() == ("word", "OR"):
            self._at += 1
            nodes.append(self._single())
        return nodes[0] if len(nodes) == 1 else Some(tuple(nodes))

    def _single(self) -> Node:
        kind, said = self._take()
        if (kind, said) in (("word", "NOT"), ("word", "-")):
            return Not(self._single())
        if (kind, said) == ("sign", "("):
            node = self.every()
            self._expect(")")
            return node
        if kind == "sign" or said in ("AND", "OR"):
            raise self.wrong(said)
        if kind == "word" and said.startswith("-"):
            self._at -= 1
            self._tokens[self._at] = (kind, said[1:])
            return Not(self._single())
        name = _unquoted(kind, said)
        # A label's name may be quoted: labels."a/b".
        while kind == "word" and name.endswith(".") and not self.ended:
            name += _unquoted(*self._take())
        if self.ended or self._peek()[0] != "sign" or self._peek()[1] in "()":
            return Comparison("", "", name)
        return self._value(name, self._take()[1])

    def _value(self, name: str, operator: str) -> Node:
        kind, said = self._take()
        if (kind, said) == ("sign", "("):
            node = self.every()
            self._expect(")")
            return _spread(node, name, operator)
        if kind == "sign":
            raise self.wrong(said)
        return Comparison(name, operator, _unquoted(kind, said))

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at]

    def _take(self) -> tuple[str, str]:
        if self.ended:
            raise self.wrong("the end")
        self._at += 1
        return self._tokens[self._at - 1]

    def _expect(self, sign: str) -> None:
        if self._take() != ("sign", sign):
            raise self.wrong(self._tokens[self._at - 1][1])

    def wrong(self, found: str = "") -> ServiceError:
        found = found or self._peek()[1]
        text = f"Unparseable filter: syntax error at {found!r} in {self._text!r}"
        return refused("INVALID_ARGUMENT", text)


def _spread(node: Node, name: str, operator: str) -> Node:
    """``field = ("a" OR "b")``."""
    if isinstance(node, Comparison):
        return Comparison(name, operator, node.value)
    if isinstance(node, Not):
        return Not(_spread(node.node, name, operator))
    return type(node)(tuple(_spread(one, name, operator) for one in node.nodes))


def _unquoted(kind: str, said: str) -> str:
    return _ESCAPE.sub(r"\1", said[1:-1]) if kind == "string" else said
