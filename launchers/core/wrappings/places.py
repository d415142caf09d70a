"""Paths: of a spec as its service would get it, and of the same place in what was read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

Steps = tuple[str | int, ...]

_STEP = re.compile(r"""\.([A-Za-z_][\w-]*)|\[(\d+)\]|\["([^"\\]*(?:\\.[^"\\]*)*)"\]""", re.ASCII)
_PLAIN = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
# A path in a sentence; a full stop or a comma behind it is none of it.
_IN_TEXT = re.compile(
    r"""\$(?:\.[A-Za-z_][\w-]*|\[\d+\]|\["[^"\\]*(?:\\.[^"\\]*)*"\])+""", re.ASCII
)


def steps_of(path: str) -> tuple[Steps, str]:
    """The keys and indices of ``$.a.b[0]``, and what follows them in ``path``.

    Example:
        >>> steps_of("$.Tags[0].Key: x")
        (('Tags', 0, 'Key'), ': x')
    """
    if not path.startswith("$"):
        return (), path
    steps: list[str | int] = []
    position = 1
    while match := _STEP.match(path, position):
        name, index, quoted = match.groups()
        if index is not None:
            steps.append(int(index))
        else:
            steps.append(name if name is not None else _unquoted(quoted))
        position = match.end()
    return tuple(steps), path[position:]


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text


def joined(base: str, *steps: str | int) -> str:
    """``base`` and the steps behind it, as a path."""
    for step in steps:
        if isinstance(step, int):
            base += f"[{step}]"
        elif _PLAIN.fullmatch(step):
            base += f".{step}"
        else:
            base += f"[{json.dumps(step, ensure_ascii=False)}]"
    return base


@dataclass(frozen=True)
class Places:
    """Where the parts of a spec lie in what was read.

    Attributes:
        root: The place of the spec as a whole.
        moved: Steps in the spec -> their place, for what has another name there or lies elsewhere.
        style: A key of the service as the document would spell it, for keys that it lacks.
    """

    root: str = "$"
    moved: Mapping[Steps, str] = field(default_factory=dict)
    style: Callable[[str], str] = str

    def of(self, path: str) -> str:
        """The place of ``path``, ``$.ResourceConfig.InstanceCount``; what is no path stays."""
        if not path.startswith("$"):
            return path
        steps, rest = steps_of(path)
        return self.of_steps(steps) + rest

    def of_steps(self, steps: Steps) -> str:
        """The same for steps."""
        for length in range(len(steps), -1, -1):
            base = self.moved.get(steps[:length])
            if base is None and length == 0:
                base = self.root
            if base is not None:
                behind = (
                    self.style(step) if isinstance(step, str) else step for step in steps[length:]
                )
                return joined(base, *behind)
        raise AssertionError("the root is a place")

    def in_text(self, text: str) -> str:
        """A sentence with the paths in it as they are in what was read."""
        return _IN_TEXT.sub(lambda match: self.of(match[0]), text)

    def within(self, *steps: str | int) -> Places:
        """The places of what lies at ``steps`` of the spec."""
        count = len(steps)
        inner = {at[count:]: where for at, where in self.moved.items() if at[:count] == steps}
        return replace(self, root=self.of_steps(steps), moved=inner)

    def with_moved(self, moved: Mapping[Steps, str]) -> Places:
        """With other places for some."""
        return replace(self, moved={**self.moved, **moved})

    def renamed(self, theirs: str, ours: str) -> Places:
        """With ``ours`` for a key that is ``theirs`` in what was read, and all that lies in it."""
        inner = {(ours, *at[1:]): where for at, where in self.moved.items() if at[:1] == (theirs,)}
        return self.with_moved({(ours,): self.of_steps((theirs,)), **inner})
