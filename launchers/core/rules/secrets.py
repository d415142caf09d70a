"""What a secret's reference may be. The value itself must never stand in a job."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem
from launchers.core.rules.environment import problems_in_names

# Form -> (what it looks like in a message, how it is recognised). entrypoints/secret_references.py
# resolves them.
AWS, GOOGLE, HERE = "aws", "google", "here"
_FORMS = {
    AWS: (
        "the ARN of a secret (arn:aws:secretsmanager:...) or of a parameter (arn:aws:ssm:...)",
        re.compile(
            r"arn:aws[a-z-]*:(secretsmanager:[a-z0-9-]+:\d{12}:secret|ssm:[a-z0-9-]+:\d{12}:parameter)"
            r"[:/].+"
        ),
    ),
    GOOGLE: (
        "a secret's version (projects/PROJECT/secrets/NAME/versions/VERSION)",
        # A version is a number, an alias, or latest; names as Secret Manager's API has them.
        re.compile(r"projects/[a-z0-9.:-]+/secrets/[\w-]{1,255}/versions/[\w-]{1,63}", re.ASCII),
    ),
    HERE: (
        "env:NAME or file:PATH",
        re.compile(r"env:[A-Za-z_]\w*|file:.+", re.DOTALL),
    ),
}


def problems_in_secrets(
    secrets: Mapping[str, str], *forms: str, environment: Mapping[str, str]
) -> list[Problem]:
    """Every name that a secret may not have, and every reference that is of none of ``forms``. No
    message carries what was given, since it may be the value itself.

    Args:
        environment: The variables of ``--env``, whose names are taken.
    """
    expected = ", or ".join(_FORMS[form][0] for form in forms)
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
        if not any(_FORMS[form][1].fullmatch(reference) for form in forms)
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
    if _FORMS[HERE][1].fullmatch(reference):
        return "env: and file: are this machine's; store the value where the job's role can read it"
    return "store the value there and give the reference to it"
