"""A request whose keys another tool spells in its own way: ``instanceCount``, ``instance_count``,
``roleARN``. The service's model says which key is meant; a map's own keys stay."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from launchers.core.wrappings.places import Places, Steps, joined
from launchers.sagemaker.rules.service_model import MODEL

Style = Callable[[str], str]

# Go's initialisms, as the Kubernetes controllers write them inside a name.
_INITIALISMS = {"Arn": "ARN", "Uri": "URI", "Id": "ID", "Ids": "IDs", "Kms": "KMS", "Vpc": "VPC"}


def plain(key: str) -> str:
    """The service's own spelling."""
    return key


def camel(key: str) -> str:
    """``roleArn`` of RoleArn, as CloudTrail has it; what is no key of the service stays."""
    return key[:1].lower() + key[1:] if key in _members() else key


def acronyms(key: str) -> str:
    """``roleARN`` of RoleArn, as the Kubernetes controllers have it."""
    if key not in _members():
        return key
    words: list[str] = re.findall(r"[A-Z][A-Z0-9]*(?![a-z])|[A-Z][a-z0-9]*", key)
    return words[0].lower() + "".join(_INITIALISMS.get(word, word) for word in words[1:])


def snake(key: str) -> str:
    """``role_arn`` of RoleArn, as Terraform and the SDK's resource classes have it."""
    if key not in _members():
        return key
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower()


def folded(key: object) -> str:
    """What all spellings of a key have in common."""
    return str(key).replace("_", "").lower()


def under(node: Mapping[Any, Any], name: str) -> Any:
    """The key of ``node`` that is ``name`` in any spelling; None for none."""
    return next((key for key in node if folded(key) == folded(name)), None)


def respelt(value: Any, place: str, style: Style, blocks: bool = False) -> tuple[Any, Places]:
    """``value`` with the service's own keys, and where its parts lie.

    Args:
        place: Where it lies in what was read.
        style: The document's spelling, for keys that it lacks.
        blocks: Whether a list of one stands for an object, as a block does in a Terraform plan,
            and null or an empty list for a field that is not there.
    """
    moved: dict[Steps, str] = {}
    document = _Respeller(moved, blocks).of(MODEL.root, value, (), place)
    return document, Places(place, moved, style)


class _Respeller:
    def __init__(self, moved: dict[Steps, str], blocks: bool):
        self._moved = moved
        self._blocks = blocks

    def of(self, name: str, value: Any, steps: Steps, place: str) -> Any:
        """``value`` as the shape ``name``."""
        shape = MODEL.shapes[name]
        is_structure = shape["type"] == "structure"
        if self._blocks and is_structure and isinstance(value, list) and len(value) == 1:
            value, place = value[0], joined(place, 0)
            self._moved[steps] = place
        if isinstance(value, list) and shape["type"] == "list":
            return [
                self.of(shape["member"], item, (*steps, index), joined(place, index))
                for index, item in enumerate(value)
            ]
        if not isinstance(value, Mapping) or not is_structure:
            return value
        return self._structure(shape["members"], value, steps, place)

    def _structure(
        self, members: Mapping[str, str], value: Mapping[Any, Any], steps: Steps, place: str
    ) -> dict[Any, Any]:
        by_folded = {folded(member): member for member in members}
        result: dict[Any, Any] = {}
        for key, entry in value.items():
            if self._blocks and entry in (None, [], {}):
                continue
            member = by_folded.get(folded(key), key)
            member = key if member in result else member
            where, here = joined(place, str(key)), (*steps, str(member))
            self._moved[here] = where
            known = member in members
            result[member] = self.of(members[member], entry, here, where) if known else entry
        return result


@lru_cache(maxsize=1)
def _members() -> frozenset[str]:
    """Every key of the service's structures."""
    return frozenset(
        member for shape in MODEL.shapes.values() for member in shape.get("members", ())
    )
