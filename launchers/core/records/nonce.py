"""The job's nonce: drawn once an intent, kept in the ledger, carried by the document as
LAUNCH_NONCE. Its one-way digest, the stamp, is on every line by which guard and agent speak to
the launcher, so that a line of another job, or one that a script prints, is not taken for theirs.

It guards against accident and replay, not against malice: a script can read its own process.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, MutableMapping
from dataclasses import replace
from typing import Any

from launchers.core.model.document import document_text
from launchers.core.model.jobs import JobDefinition, LogLine, Placeholder
from launchers.core.model.problems import LaunchError
from launchers.core.shipped import runtime

VARIABLE = "LAUNCH_NONCE"
# Stands in every document that is shown or kept; the real one only in what is sent.
PLACEHOLDER = "PLACEHOLDER-NONCE"
FORM = r"[0-9a-f]{32}"
MASK = "***"


def new_nonce() -> str:
    """128 random bits, as 32 hexadecimal digits."""
    import secrets

    return secrets.token_hex(16)


def stamp_of(nonce: str) -> str:
    """The 16 hexadecimal digits that the job's lines carry; "" for a job without a nonce."""
    stamp: str = runtime("stamps").of(nonce)
    return stamp


def placeholder(path: str) -> Placeholder:
    """How a dry run lists it.

    Args:
        path: Where it stands in the document.
    """
    return Placeholder(path, PLACEHOLDER, "drawn at submission, one for each job", at_sending=True)


def filled(definition: JobDefinition, nonce: str) -> JobDefinition:
    """``definition`` as it is sent: the nonce instead of its placeholder, and no byte else."""
    text = filled_text(definition.text, nonce)
    left = tuple(one for one in definition.placeholders if one.value != PLACEHOLDER)
    return replace(definition, text=text, document=json.loads(text), placeholders=left)


def filled_text(text: str, nonce: str) -> str:
    """The text of a document as it is sent, from the one that is shown and that the ledger
    keeps."""
    if not nonce or PLACEHOLDER not in text:
        return text
    document = json.loads(text)
    for holder, key in _places(document):
        holder[key] = nonce
    return document_text(document)


def masked(text: str, nonce: str) -> str:
    """``text`` without the nonce, for whatever is shown."""
    return text.replace(nonce, MASK) if nonce and nonce != PLACEHOLDER else text


def without_secret(line: LogLine, nonce: str) -> LogLine:
    """``line`` for whoever reads the job's output: a script may print its document."""
    if not nonce or nonce not in line.text:
        return line
    return replace(line, text=masked(line.text, nonce))


def without_nonce(error: LaunchError, nonce: str) -> LaunchError:
    """``error`` for a person: a service may quote the request that it refuses."""
    error.problems = tuple(
        replace(
            problem,
            path=masked(problem.path, nonce),
            found=masked(problem.found, nonce),
            expected=masked(problem.expected, nonce),
            fix=masked(problem.fix, nonce),
        )
        for problem in error.problems
    )
    error.args = ("\n".join(str(problem) for problem in error.problems),)
    return error


def _places(value: Any) -> Iterator[tuple[MutableMapping[str, Any], str]]:
    """Where the placeholder stands: ``{"LAUNCH_NONCE": ...}``, ``{"name": "LAUNCH_NONCE",
    "value": ...}`` as Vertex AI writes variables, or a property of Spark's with that last name."""
    if isinstance(value, list):
        for item in value:
            yield from _places(item)
        return
    if not isinstance(value, dict):
        return
    for key, held in value.items():
        if held == PLACEHOLDER and key.rpartition(".")[2] == VARIABLE:
            yield value, key
    if value.get("name") == VARIABLE and value.get("value") == PLACEHOLDER:
        yield value, "value"
    for inner in value.values():
        yield from _places(inner)
