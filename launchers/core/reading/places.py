"""Where each value of a JSON or YAML text stands: line and column."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from launchers.core.json_text import NotJsonError, as_list, parse_json, texts_in
from launchers.core.model.problems import LaunchError
from launchers.core.reading.yaml_nodes import Node, compose_all

Place = tuple[int, int]
_TOKENS = re.compile(r"[\[\]{},:]|[^\s\[\]{},:]+")


def places_of(text: str, file: str) -> dict[tuple[Any, ...], Place]:
    """Line and column, from 1, of each key (of a list's item: of its value) in ``text``.

    By the keys and indexes that lead there: ``("HyperParameters", "epochs")``; ``()`` is the whole.
    In a stream of several documents, of YAML or JSON, the number of the document, from 0, comes
    first. The text is one that was read before (:func:`.text_file.parse_all`);
    empty where it cannot be.
    """
    try:
        parse_json(text, file)
        return _of_json(text)
    except NotJsonError:
        stream = as_list(text)
        if stream:  # its list begins a sign before it
            places = _of_json(stream)
            return {at: (row, column - (row == 1)) for at, (row, column) in places.items() if at}
    except LaunchError:
        return {}
    found: dict[tuple[Any, ...], Place] = {}
    try:
        nodes = compose_all(text, file)
    except LaunchError:
        return {}
    documents = [(index, node) for index, node in enumerate(nodes) if not _is_empty(node)]
    for index, node in documents:
        _of_node(node, () if len(documents) == 1 else (index,), found)
    return found


def _is_empty(node: Node) -> bool:
    return node.kind == "scalar" and node.content in ("", "~", "null")


def _of_node(node: Node, location: tuple[Any, ...], places: dict[tuple[Any, ...], Place]) -> None:
    places.setdefault(location, (node.line, node.column))
    if node.kind == "sequence":
        for at, one in enumerate(node.content):
            _of_node(one, (*location, at), places)
    elif node.kind == "mapping":
        merged: list[Node] = []
        for key, value in node.pairs:
            if key.content == "<<" and key.plain:
                merged += [value] if value.kind == "mapping" else value.content
            elif key.kind == "scalar":
                places.setdefault((*location, key.content), (key.line, key.column))
                _of_node(value, (*location, key.content), places)
        for one in merged:
            _of_node(one, location, places)


def _of_json(text: str) -> dict[tuple[Any, ...], Place]:
    """The same of a text that is valid JSON."""
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    places: dict[tuple[Any, ...], Place] = {}
    # Of each open list or object: the index or key that its next value has.
    path: list[Any] = []
    is_key = False
    for start, word in _tokens(text):
        if word in "]}":
            path.pop()
            is_key = False
        elif word == ",":
            is_key = not isinstance(path[-1], int)
            if not is_key:
                path[-1] += 1
        elif word != ":":
            if is_key:
                path[-1] = json.loads(word)
                is_key = False
            row = bisect_right(starts, start)
            places.setdefault(tuple(path), (row, start - starts[row - 1] + 1))
            if word in "[{":
                path.append(0 if word == "[" else "")
                is_key = word == "{"
    return places


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    """Each sign, number, word and quoted text of valid JSON, and where it begins."""
    at = 0
    for start, end in texts_in(text):
        yield from _outside_of_texts(text, at, start)
        yield start, text[start:end]
        at = end
    yield from _outside_of_texts(text, at, len(text))


def _outside_of_texts(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    return ((token.start(), token.group()) for token in _TOKENS.finditer(text, start, end))
