"""What a secret's reference may be. The value itself must never stand in a job."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem
from launchers.core.rules.environment import problems_in_names

_FORMS = Path(__file__).with_name("secret_forms.json")
HERE = "here"  # the form that this machine alone can resolve


def problems_in_secrets(
    secrets: Mapping[str, str], *forms: str, environment: Mapping[str, str]
) -> list[Problem]:
    """Every name that a secret may not have, and every reference that is of none of ``forms``. No
    message carries what was given, since it may be the value itself.

    Args:
        forms: Names of secret_forms.json.
        environment: The variables of ``--env``, whose names are taken.
    """
    expected = ", or ".join(_forms()[form]["title"] for form in forms)
    names = dict.fromkeys(secrets, "")
    both = [
        RULES["secret-twice"].at(f"--secret {name}", f"a variable that --env {name} sets, too")
        for name in secrets
        if name in environment
    ]
    return [*both, *problems_in_names(names, "--secret")] + [
        RULES["secret-reference"].at(
            f"--secret {name}",
            f"no reference (*** {len(reference)} characters)",
            expected,
            _fix(reference),
        )
        for name, reference in secrets.items()
        if not any(_is_of(form, reference) for form in forms)
    ]


def with_whole_paths(secrets: Mapping[str, str]) -> dict[str, str]:
    """``file:`` references with absolute paths, since ranks have another working folder."""
    return {
        name: "file:" + os.path.abspath(os.path.expanduser(reference[len("file:") :]))
        if reference.startswith("file:")
        else reference
        for name, reference in secrets.items()
    }


def _fix(reference: str) -> str:
    if _is_of(HERE, reference):
        return "env: and file: are this machine's; store the value where the job's role can read it"
    return "store the value there and give the reference to it"


def _is_of(form: str, reference: str) -> bool:
    return re.fullmatch(_forms()[form]["pattern"], reference) is not None


@cache
def _forms() -> dict[str, dict[str, str]]:
    table: dict[str, dict[str, str]] = json.loads(_FORMS.read_bytes())["forms"]
    return table
