"""Files that are no document yet: programs and templates that make one. Says which, and where the
job's spec would be."""

from __future__ import annotations

import re

from launchers.core.catalogue import RULES
from launchers.core.json_text import NotJsonError
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


# What stands where JSON ends, with the character before it -> what to do.
_HINTS = (
    (r".?(?:\$\{|\{\{|\{%|<%)", "it is a template: render it, and check what comes out"),
    (r".?(?://|/\*|#)", "JSON has no comments; YAML has them, behind #"),
    (r".?[\u2018\u2019\u201c\u201d]", 'replace the typographic quotes by "'),
    (r".?'", "JSON's texts stand in double quotes; json.dump writes them for a Python dict"),
)


def no_json_of(text: str, file: str, error: NotJsonError) -> Problem:
    """What is wrong with a text that was meant as JSON, and what to do where that is known."""
    near = text[max(error.at - 1, 0) : error.at + 2]
    fix = next((fix for pattern, fix in _HINTS if re.match(pattern, near, re.DOTALL)), "")
    if text[error.at : error.at + 1] in ("]", "}") and text[: error.at].rstrip().endswith(","):
        fix = "take out the comma before it"
    fix = fix if error.reason.startswith("Expecting") else ""
    return RULES["file-json"].at(f"{file}:{error.line}", error.reason, fix=fix)


# Characters from a file's beginning that are looked at.
_READ = 200_000
