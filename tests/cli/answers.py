"""What a command line with ``--json`` printed, held against the schema of its answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from launchers.cli.answers.schema import schema
from launchers.cli.main import asks_for_json, split
from launchers.core.registry import PROVIDERS

_HELP = {"-h", "--help", "--help-all"}


def check(words: Sequence[str], code: int, out: str) -> None:
    """Nothing where ``words`` ask for no JSON.

    Raises:
        AssertionError: stdout is not one JSON value of that shape.
    """
    ours, _ = split(list(words))
    if not asks_for_json(ours) or _HELP & set(ours):
        return
    name = name_of(ours)
    texts = out.splitlines() if name == "logs" else [out]
    for text in texts:
        value = json.loads(text)
        if isinstance(value, dict) and set(value) == {"error"}:
            name = "problems"
            assert value["error"]["exit_code"] == code != 0
            assert all(problem["rule"] for problem in value["error"]["problems"])
        if name == "schema":
            Draft202012Validator.check_schema(value)
        else:
            fits(name, value)


def fits(name: str, value: Any) -> None:
    """``value`` is an answer of that name in the catalogue.

    Raises:
        AssertionError: It is not.
    """
    wrong = [f"{error.json_path}: {error.message}" for error in _validator(name).iter_errors(value)]
    assert not wrong, wrong


def name_of(ours: Sequence[str]) -> str:
    """The answer that a command line asks for."""
    words = [word for word in ours if not word.startswith("-")]
    if not words:
        return "version"
    if words[0] in ("image", "data"):
        return f"{words[0]}-{words[1]}"
    dry_run = any(word.startswith("--dry-run") for word in ours)
    if words[0] == "scaling":
        return "scaling-plan" if dry_run else "scaling"
    if words[0] not in PROVIDERS:
        return words[0]
    if "--dry-run=docker" in ours:
        return "rehearse"
    return "plan" if dry_run else "run"


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schema(name))
