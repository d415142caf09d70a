"""What a program compiled by JAX reduces or exchanges between devices, read from its HLO text."""

from __future__ import annotations

import math
import re
from typing import Sequence

_OPERATION = re.compile(
    r"= (?P<result>.*?) (?:all-reduce|reduce-scatter|all-to-all|collective-permute)(?:-start)?\("
    r".*?(?:replica_groups|source_target_pairs)=(?P<groups>.*)"
)
_SHAPE = re.compile(r"[a-z][a-z0-9]*\[([\d,]*)\]")
_LISTED = re.compile(r"\{((?:\{[\d,]*\},?)*)\}")
_IOTA = re.compile(r"\[(\d+),(\d+)\]<=\[\d+\](?!T)")
_MESH = re.compile(r"mesh\[([^\]]*)\] \{([^}]*)\}")


def reductions(text: str, devices: int) -> list[tuple[int, list[list[int]]]]:
    """The reductions and exchanges of a compiled program: how many elements each gives, and the
    groups of devices, by their place in the program, that it goes over.

    Gathers are none: JAX makes them itself, to compare what processes were given.

    Args:
        text: Of the HLO module.
        devices: Of the program.
    """
    found = []
    for match in map(_OPERATION.search, text.splitlines()):
        if match is None:
            continue
        shapes = _SHAPE.findall(match.group("result"))
        elements = sum(math.prod(map(int, filter(None, shape.split(",")))) for shape in shapes)
        found.append((elements, _groups(match.group("groups"), devices)))
    return found


def _groups(text: str, devices: int) -> list[list[int]]:
    """Groups as HLO writes them: listed, as an iota, or as axes of a mesh; none where it is a form
    that is not known here."""
    listed, iota, mesh = _LISTED.match(text), _IOTA.match(text), _MESH.match(text)
    if listed:
        inner = re.findall(r"\{([\d,]+)\}", listed.group(1))
        named = [[int(number) for number in group.split(",")] for group in inner]
        return named or [list(range(devices))]
    if iota:
        size = int(iota.group(2))
        return [list(range(n * size, (n + 1) * size)) for n in range(int(iota.group(1)))]
    if mesh:
        axes = [(name, int(size)) for name, size in re.findall(r"'(\w+)'=(\d+)", mesh.group(1))]
        return _along(axes, set(re.findall(r"'(\w+)'", mesh.group(2))))
    return []


def _along(axes: Sequence[tuple[str, int]], chosen: set[str]) -> list[list[int]]:
    """Devices of a mesh in row-major order, together where they differ in the chosen axes alone."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for device in range(math.prod(size for _, size in axes)):
        rest, place = device, []
        for name, size in reversed(axes):
            rest, coordinate = divmod(rest, size)
            if name not in chosen:
                place.append(coordinate)
        groups.setdefault(tuple(place), []).append(device)
    return list(groups.values())
