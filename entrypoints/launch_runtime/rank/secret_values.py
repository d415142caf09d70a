"""The rank's secrets: their values into its environment, and out of what it prints.

The job definition carries references alone (LAUNCH_SECRETS, a JSON object of variable to
reference). All that the rank's processes write is masked where it is read
(:mod:`launch_runtime.rank.masked_output`); what the guard says of itself is masked here.
"""

from __future__ import annotations

import json
from typing import MutableMapping, NamedTuple, Sequence

from launch_runtime import masking
from launch_runtime.rank.refusal import RefusalError

VARIABLE = "LAUNCH_SECRETS"

_hidden: list[str] = []


class Taken(NamedTuple):
    """What was taken in.

    Attributes:
        parts: What is masked, from :func:`launch_runtime.masking.parts`.
        unmasked: Names of the secrets that are too short for it.
    """

    parts: Sequence[str] = ()
    unmasked: Sequence[str] = ()


def take_in(environment: MutableMapping[str, str]) -> Taken:
    """Resolve the references of LAUNCH_SECRETS, and put the values into ``environment``. Does
    nothing where none is named; may block on the network.

    Raises:
        RefusalError: A reference gave no value.
    """
    if not environment.get(VARIABLE):
        return Taken()
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
    parts = {name: masking.parts(value) for name, value in values.items()}
    # A value that holds another one goes first.
    found = sorted({part for some in parts.values() for part in some}, key=len, reverse=True)
    _hidden[:] = found
    return Taken(found, [name for name, some in parts.items() if values[name] and not some])


def mask(text: str) -> str:
    """``text`` without the values."""
    for part in _hidden:
        text = text.replace(part, masking.MASK.decode())
    return text
