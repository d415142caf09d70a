"""What YAML nodes mean: plain values that JSON has too, with the line of every key.

As PyYAML's safe loader reads them (YAML 1.1), but a date and a time (``1:30:00``, a number to the
base of 60 there) stay the text that they are, a key that stands twice is an error, and a number
that JSON cannot hold as well.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from launchers.core.catalogue import RULES
from launchers.core.json_text import MOST_PROBLEMS, check_text, key_twice
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.reading.yaml_nodes import Node

Location = tuple[Any, ...]
_STANDARD = "tag:yaml.org,2002:"
_TEXTS = ("str", "timestamp", "merge", "value")
_LONGEST_NUMBER = 64
_OCTAL = re.compile(r"[+-]?0[0-7_]+")
# docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference: intrinsic functions' short forms
_FUNCTIONS = frozenset(
    {"And", "Base64", "Cidr", "Condition", "Equals", "FindInMap", "GetAtt", "GetAZs", "If"}
    | {"ImportValue", "Join", "Length", "Not", "Or", "Ref", "Select", "Split", "Sub"}
    | {"ToJsonString", "Transform"}
)


class Intrinsic(dict[str, Any]):
    """What a short function of CloudFormation stands for: ``!Ref x`` is ``{"Ref": "x"}``."""


class YamlValues:
    """Builds the values of one file.

    Args:
        file: As problems name it.
        text_keys: Whether a key that is no text (``1``, ``on``) is an error; else it is what the
            file has, as text.
        verbatim: Where a scalar is the text of the file, also an unquoted number.
        verbatim_null: Whether that holds for an empty value too: it is an empty text then.
        functions: Whether CloudFormation's ``!Ref x`` is read, as an :class:`Intrinsic`.
        octal_digits: Whether ``010`` is 8; else it is an error, since whoever writes it means 10.

    Attributes:
        lines: Of each key, by where it lies.
        problems: Of keys: each is told, not the first alone.
    """

    def __init__(
        self,
        file: str,
        *,
        text_keys: bool = False,
        verbatim: Callable[[Location], bool] = lambda location: False,
        verbatim_null: bool = False,
        functions: bool = False,
        octal_digits: bool = True,
    ) -> None:
        import yaml

        self.file, self.text_keys, self.functions = file, text_keys, functions
        self.verbatim, self.verbatim_null = verbatim, verbatim_null
        self.octal_digits = octal_digits
        self.lines: dict[Location, int] = {}
        self.problems: list[Problem] = []
        self._yaml = yaml
        self._constructor: Any = yaml.SafeLoader("")

    def of(self, node: Node | None) -> Any:
        """The file's value; None for an empty one.

        Raises:
            LaunchError: With every key that is wrong, or the first value that is.
        """
        value = None if node is None else self._build(node, ())
        if self.problems:
            # What aliases repeat is told once.
            raise LaunchError([*dict.fromkeys(self.problems)][:MOST_PROBLEMS])
        return value

    def _build(self, node: Node, location: Location) -> Any:
        if node.kind == "scalar":
            value = self._scalar(node, location)
        elif node.kind == "sequence":
            value = [self._build(one, (*location, at)) for at, one in enumerate(node.content)]
        else:
            value = self._mapping(node, location)
        return self._function(node, value) if node.tag else value

    def _mapping(self, node: Node, location: Location) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        first: dict[str, int] = {}
        merged: list[Node] = []
        for key_node, value_node in node.pairs:
            if key_node.content == "<<" and key_node.plain:
                merged += self._merged(value_node)
                continue
            key, place = self._key(key_node), f"{self.file}:{key_node.line}"
            if key is None:
                continue
            if key in result:
                found, fix = key_twice(first[key]), "remove one of the two"
                rule = RULES["file-key-twice"]
                self.problems.append(rule.at(f"{place}: {key}", found, fix=fix))
            first.setdefault(key, key_node.line)
            self.lines.setdefault((*location, key), key_node.line)
            result[key] = self._build(value_node, (*location, key))
        for mapping in merged:  # the keys beside them win, then the first of them
            result = {**self._mapping(mapping, location), **result}
        return result

    def _merged(self, node: Node) -> list[Node]:
        nodes = [node] if node.kind == "mapping" else node.content
        if isinstance(nodes, str) or any(one.kind != "mapping" for one in nodes):
            found, expected = "a merge (<<) of something else", "a mapping, or a list of mappings"
            raise LaunchError(RULES["file-yaml"].at(self._place(node), found, expected))
        return list(nodes)

    def _key(self, node: Node) -> str | None:
        if node.kind != "scalar":
            self.problems.append(RULES["file-key-text"].at(self._place(node), f"a {node.kind}"))
            return None
        if self.text_keys:
            value = self._scalar(node, (None,))
            if not isinstance(value, str):
                self.problems.append(RULES["file-key-text"].at(self._place(node), repr(value)))
                return None
        text: str = node.content
        check_text(text, self._place(node))
        return text

    def _scalar(self, node: Node, location: Location) -> Any:
        text: str = node.content
        name = self._type(node)
        is_time = name in ("int", "float") and ":" in text
        if name in _TEXTS or is_time or self._is_verbatim(name, location):
            check_text(text, self._place(node))
            return text
        if name == "null":
            return None
        if name in ("int", "float") and len(text) > _LONGEST_NUMBER:
            raise LaunchError(too_long_number(self._place(node), len(text)))
        doubtful = not self.octal_digits and location != (None,)
        if doubtful and name == "int" and _OCTAL.fullmatch(text):
            where = ".".join(map(str, location))
            expected, fix = (
                "a number without a leading zero",
                "YAML takes it for an octal one; if it is text, put it in quotes",
            )
            place = f"{self._place(node)}: {where}"
            raise LaunchError(RULES["file-value"].at(place, text, expected, fix))
        scalar = self._yaml.ScalarNode(_STANDARD + name, text)
        try:
            value = getattr(self._constructor, f"construct_yaml_{name}")(scalar)
        except (ValueError, KeyError, IndexError):
            raise LaunchError(RULES["file-yaml"].at(self._place(node), f"no {name}")) from None
        if isinstance(value, float) and not math.isfinite(value):
            raise LaunchError(RULES["file-number"].at(self._place(node), text))
        return value

    def _is_verbatim(self, name: str, location: Location) -> bool:
        if location == (None,) or (name == "null" and not self.verbatim_null):
            return False
        return self.verbatim(location)

    def _type(self, node: Node) -> str:
        """The scalar's type, as YAML 1.1 calls it: ``str``, ``int``, ``null``."""
        tag = node.tag
        if tag is None or not tag.startswith(_STANDARD):
            if tag not in (None, "!"):
                return "str"  # of a function, which takes the text
            tag = f"{_STANDARD}str"
            if node.plain:
                tag = self._constructor.resolve(self._yaml.ScalarNode, node.content, (True, False))
        name = str(tag).removeprefix(_STANDARD)
        if name not in (*_TEXTS, "null", "bool", "int", "float"):
            raise LaunchError(self._odd_tag(node, f"!!{name}"))
        return name

    def _function(self, node: Node, value: Any) -> Any:
        """``value``, or what CloudFormation's short form stands for."""
        tag = str(node.tag)
        if tag.startswith(_STANDARD):
            kinds = {"mapping": "map", "sequence": "seq"}
            name = tag.removeprefix(_STANDARD)
            if node.kind != "scalar" and name != kinds[node.kind]:
                raise LaunchError(self._odd_tag(node, f"!!{name}"))
            return value
        if tag == "!":
            return value
        name = tag.removeprefix("!")
        if not self.functions or name not in _FUNCTIONS:
            raise LaunchError(self._odd_tag(node, tag))
        if name == "GetAtt" and isinstance(value, str):
            value = value.split(".", 1)
        return Intrinsic({name if name in ("Ref", "Condition") else f"Fn::{name}": value})

    def _odd_tag(self, node: Node, tag: str) -> Problem:
        return RULES["file-yaml"].at(self._place(node), f"the tag {tag[:60]}", "plain values")

    def _place(self, node: Node) -> str:
        return f"{self.file}:{node.line}"


def too_long_number(place: str, length: int) -> Problem:
    """The problem of a number with more digits than anything needs."""
    return RULES["file-number"].at(place, f"a number of {length:,} digits")
