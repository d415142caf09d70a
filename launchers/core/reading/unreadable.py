"""Files that are no document yet: programs and templates that make one. Says which, and where the
job's spec would be."""

from __future__ import annotations

import re

from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem

_SAVE = (
    "save the request that it sends (json.dump of the arguments of create_training_job, the "
    "pipeline's definition(), the compiled pipeline), and check that"
)
# What is found in the text -> what it is, and what gives the document. The first one counts.
_FORMS = (
    (
        r"\{\{-?\s*(?:\.Values|\.Release|\.Chart|include\b|template\b|toYaml\b|if\b|range\b|with\b)",
        "a Helm template, which is not YAML until it is rendered",
        "`helm template CHART` renders it; check that",
    ),
    (
        r"^\s*(?:resource|module|variable|provider|terraform|data|locals|output)\b[^\n=:]*\{",
        "Terraform's own language",
        "`terraform plan -out=PLAN && terraform show -json PLAN` gives a plan that is read",
    ),
    (
        r"^(?:from\s+[\w.]+\s+import\s|import\s+[\w.]+(?:\s+as\s+\w+)?\s*$|def\s+\w+\(|@\w+)",
        "a Python program, which makes its request as it runs",
        _SAVE,
    ),
    (
        r"^#!.*\b(?:sh|bash)\b|^\s*(?:aws|gcloud)\s+[a-z-]+\s",
        "a shell's lines",
        "check the file that --cli-input-json or --config names",
    ),
    (
        r"^(?:import\s.*\sfrom\s|const\s+\w+\s*=|new\s+\w+\(|import\s+\*\s+as)",
        "a program in JavaScript or TypeScript",
        "`cdk synth` or its like gives a template that is read",
    ),
    (
        r"\{%-?\s*(?:if|for|set|include|block|extends)\b|\{\{[^{}]*\}\}",
        "a template, which is not a document until it is rendered",
        "render it, and check what comes out",
    ),
)


# What no values of a finished document hold.
_CHART = re.compile(r"\{\{-?\s*\.(?:Values|Release|Chart)\.")


def is_chart(text: str) -> bool:
    """Whether a chart's values are to be filled in, also where the text is YAML before that."""
    return _CHART.search(text[:_READ]) is not None


def reason_of(text: str, file: str) -> Problem | None:
    """What a text is that is neither JSON nor YAML with a document in it; None where that is not
    known."""
    for pattern, found, fix in _FORMS:
        if re.search(pattern, text[:_READ], re.MULTILINE):
            return RULES["file-shape"].at(file, found, "JSON or YAML", fix)
    return None


# Characters from a file's beginning that are looked at.
_READ = 200_000
