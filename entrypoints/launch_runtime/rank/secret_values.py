"""The rank's secrets: their values into its environment, and out of what it prints.

The job definition carries references alone (LAUNCH_SECRETS, a JSON object of variable to
reference). What goes through ``sys.stdout`` and ``sys.stderr``, and what the guard itself says, is
masked; what C code or another process of the script writes by itself is not.
"""

from __future__ import annotations

import json
import sys
from typing import Any, MutableMapping

from launch_runtime.rank.refusal import RefusalError

VARIABLE = "LAUNCH_SECRETS"
MASK = "***"
# A shorter one stands everywhere in ordinary text.
_SHORTEST = 4

_hidden: list[str] = []


def take_in(environment: MutableMapping[str, str]) -> None:
    """Resolve the references of LAUNCH_SECRETS, put the values into ``environment``, and mask them
    from now on. Does nothing where none is named; may block on the network.

    Raises:
        RefusalError: A reference gave no value.
    """
    if not environment.get(VARIABLE):
        return
    import secret_references

    try:
        references: dict[str, str] = json.loads(environment[VARIABLE])
        values = secret_references.resolve(references, environment)
    except ValueError:
        raise RefusalError(f"a JSON object of references in {VARIABLE}", "something else") from None
    except secret_references.SecretError as error:
        raise RefusalError(
            f"a value for the secret {error.name}",
            f"none by {error.reference}",
            error.why,
            error.fix,
        ) from None
    environment.update(values)
    hide(values.values())


def hide(values: Any) -> None:
    """Mask ``values`` in all that is printed from now on."""
    for value in values:
        # A value of several lines is printed line by line.
        _hidden.extend(part for part in value.splitlines() if len(part) >= _SHORTEST)
    # A value that holds another one goes first.
    _hidden.sort(key=len, reverse=True)
    if _hidden:
        sys.stdout, sys.stderr = _Masked(sys.stdout), _Masked(sys.stderr)


def mask(text: str) -> str:
    """``text`` without the values."""
    for value in _hidden:
        text = text.replace(value, MASK)
    return text


class _Masked:
    """A text stream that masks what is written to it; else the stream itself."""

    def __init__(self, stream: Any):
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(mask(text))
        return len(text)

    def writelines(self, parts: Any) -> None:
        for part in parts:
            self.write(part)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __iter__(self) -> Any:
        return iter(self._stream)
