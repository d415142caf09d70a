"""Finds credentials where they must not stand: in a request, an argument list, the source.

A job definition is stored and shown by the provider, and its arguments appear in logs, so a value
that looks like a credential is refused there, with the way to pass it as a secret reference. What
is found is told by its kind and place; no message carries the value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from launchers.core.catalogue import RULES
from launchers.core.credentials.assignments import Manner, assignments
from launchers.core.credentials.aws import (
    KEY_ID,
    aws_secret_keys,
    is_bare_aws_secret_key,
    secret_keys_beside,
)
from launchers.core.credentials.encoded import encoded
from launchers.core.credentials.kubernetes import manifest_secrets
from launchers.core.credentials.matching import matches
from launchers.core.credentials.names import (
    is_literal,
    is_reference,
    is_secret_value,
    kind_of_name,
)
from launchers.core.credentials.services import kind_of_service
from launchers.core.model.problems import Problem

REFERENCE_FORMS = (
    "the ARN of an AWS Secrets Manager secret, or projects/PROJECT/secrets/SECRET/versions/VERSION"
)

_OPTION = re.compile(r"--?([A-Za-z][\w.-]*)(?:=(.*))?", re.DOTALL)
_POSITIONAL = re.compile(r"argument \d+")
_NAMED_VALUE = re.compile(r"\+{0,2}([A-Za-z_][\w.-]*)=(.*)", re.DOTALL)


def looks_like_credential(name: str, value: str) -> str | None:
    """The kind of credential that ``value``, given under ``name``, looks like; ``None`` if none.

    Args:
        name: The variable's or option's name; empty for a value without one.
        value: The value as given, also one that is encoded as a JSON string.

    Returns:
        A phrase for a message, such as ``an AWS access key id`` or ``a password, by its name``.
        It never holds the value.
    """
    if _is_aws_secret_key(name, value.strip().strip("\"'")):
        return "an AWS secret access key"
    for found in matches(value):
        if found.literal is None or not is_reference(found.literal):
            return found.kind
    if "PRIVATE KEY-----" in value:
        return "a private key"
    kind = kind_of_name(name)
    if kind and is_secret_value(kind, value):
        return f"{kind}, by its name"
    kind = kind_of_service(name, value.strip().strip("\"'"))
    if kind:
        return f"{kind}, by its name"
    return next((inner for _, inner in assignments(value, "configuration")), None)


def scan_text(text: str, manner: Manner = "code") -> list[tuple[int, str]]:
    """The lines of a source file that hold what looks like a credential.

    Args:
        text: The file's text.
        manner: How values stand there: ``configuration`` has them without quotes (YAML, INI,
            shell, env files), ``prose`` is anything else that is no code.

    Returns:
        Pairs of line number (from 1) and kind, in order; at most one a line.
    """
    found: dict[int, str] = {}
    for match in matches(text):
        if match.literal is None or is_literal(match.literal):
            found.setdefault(_line(text, match.start), match.kind)
        if match.kind == KEY_ID:
            for secret in secret_keys_beside(text, match.start):
                found.setdefault(_line(text, secret.start), secret.kind)
    for start, kind in assignments(text, manner):
        found.setdefault(_line(text, start), kind)
    for start in manifest_secrets(text):
        found.setdefault(_line(text, start), "a secret of Kubernetes")
    data = text.encode("utf-8", "replace")
    for start, kind in encoded(data):
        found.setdefault(data.count(b"\n", 0, start) + 1, kind)
    return sorted(found.items())


def mask(value: str) -> str:
    """What a message may say of a credential: that it is there, and how long it is."""
    return f"*** ({len(value)} characters)"


def flagged_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Name and kind of every value of ``environment`` that looks like a credential."""
    found = {}
    for name, value in environment.items():
        kind = looks_like_credential(name, value)
        inside = flagged_arguments(_argument_list(value))
        if kind or inside:
            found[name] = kind or inside[0][1]
    return found


def flagged_arguments(arguments: Sequence[str]) -> list[tuple[str, str, str]]:
    """Every argument that looks like a credential, as ``(name, kind, value)``, in order.

    The name is the option's without dashes, the key of a ``key=value``, or ``argument N`` (from
    1) of a positional: what ``--allow-value`` takes.
    """
    found = []
    for name, label, value in _named_arguments(arguments):
        kind = looks_like_credential(name, value)
        if kind:
            found.append((label, kind, value))
    return found


def problems_in_environment(
    environment: Mapping[str, str], path_prefix: str, allowed_names: Collection[str] = ()
) -> list[Problem]:
    """A problem for each value that looks like a credential, unless its name is allowed.

    Args:
        environment: Names and values: environment variables, hyperparameters, tags.
        path_prefix: Where they stand. ``$.Environment`` makes ``$.Environment.NAME``; a prefix
            that ends in a sign or a blank is used as it is (``--env `` makes ``--env NAME``).
        allowed_names: Names that ``--allow-value`` lets pass.

    A value that is an argument list in JSON is read as one, by the names of its arguments.
    """
    problems = []
    for name, kind in flagged_environment(environment).items():
        path, value = _path(path_prefix, name), environment[name]
        arguments = _argument_list(value)
        if name in allowed_names:
            continue
        if arguments:
            problems += problems_in_arguments(arguments, f"{path}: ", allowed_names)
        else:
            problems.append(_problem(path, name, kind, value, name))
    return problems


def problems_in_arguments(
    arguments: Sequence[str], path_prefix: str, allowed_names: Collection[str] = ()
) -> list[Problem]:
    """A problem for each script argument that looks like a credential, unless allowed.

    Args:
        arguments: The script's own arguments, in any of the forms ``--name value``,
            ``--name=value``, ``-n value``, ``name=value``, ``value``.
        path_prefix: As for :func:`problems_in_environment`.
        allowed_names: Names as :func:`flagged_arguments` gives them, with or without dashes.
    """
    allowed = {name.lstrip("-") for name in allowed_names}
    return [
        _problem(_path(path_prefix, label), label, kind, value, _variable(label))
        for label, kind, value in flagged_arguments(arguments)
        if label not in allowed
    ]


def _problem(path: str, name: str, kind: str, value: str, variable: str) -> Problem:
    return RULES["credential"].at(
        path,
        f"looks like {kind}: {mask(value)}",
        fix=f"Store it in the provider's secret manager, pass --secret {variable}=REFERENCE "
        f"({REFERENCE_FORMS}), and read the environment variable {variable} in the script; "
        f"if it is no credential, --allow-value '{name}' lets it pass",
    )


def _is_aws_secret_key(name: str, value: str) -> bool:
    """By its name, if that says so, else by its randomness alone."""
    folded = name.lower()
    if ("secret" in folded or ("aws" in folded and "key" in folded)) and not value.startswith(
        ("arn:", "projects/")
    ):
        return next(aws_secret_keys(value), None) is not None
    return is_bare_aws_secret_key(value)


def _path(prefix: str, name: str) -> str:
    if prefix == "--" and _POSITIONAL.fullmatch(name):
        return name
    return f"{prefix}.{name}" if prefix[-1:].isalnum() else f"{prefix}{name}"


def _argument_list(value: str) -> list[str]:
    """The arguments in ``value`` where that is a JSON list of texts; else none."""
    if not value.startswith("["):
        return []
    try:
        arguments = json.loads(value)
    except (ValueError, RecursionError):
        return []
    is_list = isinstance(arguments, list) and all(isinstance(one, str) for one in arguments)
    return arguments if is_list else []


def _variable(name: str) -> str:
    """The argument ``name`` as an environment variable; NAME where the argument has no name."""
    if _POSITIONAL.fullmatch(name):
        return "NAME"
    return re.sub(r"\W+", "_", name).strip("_").upper()


def _named_arguments(arguments: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """``(name for the rules, name for people, value)`` of every argument that has a value."""
    option = ""
    for position, argument in enumerate(arguments, start=1):
        match = _OPTION.fullmatch(argument)
        # A value may begin with one dash; with two it is the next option.
        if match and not (option and not argument.startswith("--") and match[2] is None):
            option = ""
            if match[2] is None:
                option = match[1]
            else:
                yield match[1], match[1], match[2]
            continue
        named = None if option else _NAMED_VALUE.fullmatch(argument)
        if named:
            yield named[1], named[1], named[2]
        else:
            yield option, option or f"argument {position}", argument
        option = ""


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1
