"""Makes docs/json.md from the shapes of the ``--json`` answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infra.refresh.files import CLONE, refresh_page
from launchers.cli.answers.catalogue import ANSWERS
from launchers.cli.answers.schema import schema

FILE = CLONE / "docs" / "json.md"
_HEAD = """# Answers for programs

With `--json` a command prints one JSON value on stdout, whatever happens; messages for
people still go to stderr. `launch logs --json` is the one exception: one object per line. `--help`
stays text.

    launch list --json
    launch sagemaker train.py --instances 2 --gpus 4 --dry-run --json

If a command has no answer, because the command line is wrong, a rule is broken, preflight or the
provider refuses, or it was interrupted, the value is an object with the one key `error`:

    $ launch status nosuch --json
    {
      "error": {
        "exit_code": 2,
        "problems": [
          {
            "rule": "job-unknown",
            "severity": "error",
            "path": "JOB",
            "found": "nosuch",
            "expected": "a job of `launch list`",
            "fix": "see `launch list`"
          }
        ]
      }
    }

The exit code is the command's own ([exit-codes.md](exit-codes.md)), and a rule is one of
[rules.md](rules.md). A job that ended without success is an answer: a job's object, and exit code
1. So is a file that `launch check` finds fault with, or an image that lacks something: exit code 2.
`launch logs` ends with the error as its last line. What looks like a credential is masked as it is
in the text.

* `launch PROVIDER --dry-run` prints the document alone, `--format yaml` as YAML; with `--json` the
  plan as well. A sweep's dry run is a list of what one job's is; `--format yaml` puts `---` before
  each document. A sweep's jobs are a list, too.
* `launch check --report json` is `--json`. With `-o FILE` the report goes to the file as well.
* Times are ISO 8601 in UTC: `2025-12-01T00:00:00.250Z`.
* `launch schema` prints the JSON schema of launch.yaml, `launch schema ANSWER` that of an answer
  (2020-12), `launch schema --list` the names below. An object has no other keys than its schema
  says. New keys may come with a new minor version, and the changelog names every key that goes or
  changes.

Generated from `launchers/cli/answers` by `python -m infra.refresh.json_page`; do not edit below.
"""


def page() -> str:
    """The page's text: the answers, then each object once."""
    known: dict[str, Any] = {}
    answers = ["| answer | of `launch` ... | it is |", "| --- | --- | --- |"]
    for name, (_, given_by) in ANSWERS.items():
        found = schema(name)
        known |= found.pop("$defs")
        answers.append(f"| `{name}` | {given_by} | {_type(found)} |")
    objects = ["\n".join(_object(name, found)) for name, found in sorted(known.items())]
    return "\n".join([_HEAD, *answers, "", *objects])


def _object(name: str, found: dict[str, Any]) -> Iterator[str]:
    yield f"## {name}\n"
    yield f"{found['description']}\n"
    yield "| key | type | |"
    yield "| --- | --- | --- |"
    for key, kind in found["properties"].items():
        may_be_missing = [] if key in found["required"] else ["May be missing."]
        said = " ".join([*may_be_missing, kind.get("description", "")])
        yield f"| `{key}` | {_type(kind)} | {said} |".replace("  |", " |")
    yield ""


def _type(kind: dict[str, Any]) -> str:
    """A schema in words."""
    if "$ref" in kind:
        name = kind["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in kind:
        return " or ".join(_type(one) for one in kind["anyOf"])
    if "enum" in kind:
        return ", ".join(f"`{word}`" for word in kind["enum"])
    if kind.get("format") == "date-time":
        return "time"
    if kind.get("type") == "array":
        return f"list of {_type(kind['items'])}"
    if kind.get("type") == "object":
        inner = _type(kind["additionalProperties"])
        return f"object of {inner}" if inner else "object"
    types = kind.get("type", "")
    return types if isinstance(types, str) else " or ".join(types)


if __name__ == "__main__":
    raise SystemExit(refresh_page(FILE, page(), "json_page"))
