"""`launch check FILE`: every rule, for a document that something else made."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from launchers.cli.output import answer, say, say_problems
from launchers.core.kinds import Count
from launchers.core.problems import EXIT_BAD_REQUEST, EXIT_OK, LaunchError, Problem, errors


@click.command(
    "check",
    help="Run every rule on a CreateTrainingJob document (JSON or YAML) that something else made; "
    "exit 2 when one fails. FILE may be - for standard input.",
)
@click.argument("file", metavar="FILE")
@click.option("--world-size", metavar="N", help="The world size that is meant.")
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON on stdout.")
def command(file: str, world_size: str | None, as_json: bool) -> int:
    """Check one file; nothing is sent anywhere."""
    expected = _expected(world_size)
    document = read_document(file)
    from launchers.sagemaker.rules import check
    from launchers.sagemaker.rules_world_size import started_world_size

    problems = check(document, expected)
    failed = errors(problems)
    started = started_world_size(document)
    if as_json:
        answer(
            {
                "file": file,
                "provider": "sagemaker",
                "world_size": started,
                "ok": not failed,
                "problems": [problem.as_dict() for problem in problems],
            }
        )
    else:
        say_problems(problems)
        verdict = f"{len(failed)} errors" if failed else "no errors"
        say(
            f"{file}: {verdict}, {len(problems) - len(failed)} warnings; "
            f"it starts a world size of {started if started is not None else 'unknown'}"
        )
    return EXIT_BAD_REQUEST if failed else EXIT_OK


def read_document(file: str) -> dict[str, Any]:
    """The document in ``file``: JSON, else YAML; ``-`` is standard input.

    Raises:
        LaunchError: It cannot be read, or is no object of a provider that we know.
    """
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise LaunchError(
            Problem(file, str(reason), "a file that can be read", rule="file-unreadable")
        ) from None
    document = _parsed(text, file)
    if not isinstance(document, dict) or not document:
        found = "nothing" if document in (None, {}) else type(document).__name__
        raise LaunchError(
            Problem(file, found, "an object: a CreateTrainingJob request", rule="file-shape")
        )
    return document


def _parsed(text: str, file: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _once(pairs, file))
    except json.JSONDecodeError as error:
        if text.lstrip().startswith("{"):
            raise LaunchError(
                Problem(f"{file}:{error.lineno}", error.msg, "valid JSON", rule="file-json")
            ) from None
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{file}:{mark.line + 1}" if mark else file
        reason = getattr(error, "problem", None) or "cannot be read"
        raise LaunchError(Problem(place, str(reason), "valid YAML", rule="file-yaml")) from None


def _once(pairs: list[tuple[str, Any]], file: str) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for key, value in pairs:
        if key in document:
            raise LaunchError(
                Problem(
                    f"{file}: {key}",
                    "the same key twice",
                    "each key once",
                    "a reader keeps the last one without a word",
                    rule="file-key-twice",
                )
            )
        document[key] = value
    return document


def _expected(text: str | None) -> int | None:
    if text is None:
        return None
    kind = Count(1, 100_000)
    try:
        return kind.parse(text)
    except ValueError:
        raise LaunchError(Problem("--world-size", text, kind.expected, rule="flag-value")) from None
