"""The report for code scanning: SARIF 2.1.0 (OASIS), with what GitHub reads of it."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from launchers import DISTRIBUTION
from launchers.cli.checking.files import project_root
from launchers.cli.checking.findings import Check, Checked, Finding
from launchers.core.catalogue import catalogues
from launchers.core.model.rules import Rule
from launchers.core.printable import printable, printable_json
from launchers.core.sdk.installed import installed_version

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning"}
# GitHub's word for a level, of rules that are not about security.
_GRADES = {"error": "error", "warning": "warning", "note": "recommendation"}


def report(check: Check) -> str:
    """One run, with a result for every problem; the ignored ones carry a suppression."""
    results = _Results(check)
    run = {
        "tool": {
            "driver": {
                "name": "launch",
                "semanticVersion": _version(),
                "rules": [_rule(one) for one in results.rules],
            }
        },
        "automationDetails": {"id": "launch-check/"},
        "columnKind": "unicodeCodePoints",
        "artifacts": [{"location": location} for location in results.artifacts],
        "results": results.results,
    }
    return printable_json({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


class _Results:
    """The results, and the rules and files that they refer to by number."""

    def __init__(self, check: Check):
        self._check = check
        self._root = project_root()
        named = {found.problem.rule for _, found in check.findings}
        self.rules = _rules(named)
        self._numbers = {rule.id: number for number, rule in enumerate(self.rules)}
        self._seen: Counter[str] = Counter()
        files = dict.fromkeys(part.file for part in check.parts)
        self.artifacts = [self._location(file) for file in files]
        self._artifact = {file: number for number, file in enumerate(files)}
        self.results = [self._result(part, found) for part, found in check.findings]

    def _result(self, part: Checked, found: Finding) -> dict[str, Any]:
        problem = found.problem
        level = _LEVELS.get(problem.severity, "note")
        if level == "note" and self._check.fails(found):
            level = "error"
        expected = f"; expected {problem.expected}" if problem.expected else ""
        fix = f". {problem.fix}" if problem.fix else ""
        result: dict[str, Any] = {
            "ruleId": problem.rule,
            "ruleIndex": self._numbers[problem.rule],
            "level": level,
            "message": {"text": _text(f"{problem.path}: {problem.found}{expected}{fix}")},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {
                            **self._location(found.file),
                            "index": self._artifact[found.file],
                        },
                        "region": {
                            "startLine": max(1, found.line),
                            "startColumn": max(1, found.column),
                        },
                    },
                    "logicalLocations": [{"fullyQualifiedName": printable(problem.path)}],
                }
            ],
            "partialFingerprints": {"primaryLocationLineHash": self._fingerprint(part, found)},
        }
        if found.ignored:
            accepted = {"kind": "external", "status": "accepted"}
            result["suppressions"] = [{**accepted, "justification": printable(found.ignored)}]
        return result

    def _fingerprint(self, part: Checked, found: Finding) -> str:
        """The same for the same problem at the same place, whatever the line and the value."""
        location = self._location(found.file)["uri"]
        words = "\n".join([location, part.place, found.problem.rule, found.problem.path])
        digest = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self._seen[digest] += 1
        return f"{digest}:{self._seen[digest]}"

    def _location(self, file: str) -> dict[str, str]:
        """A URI that is relative to the repository, as it is the same on every machine."""
        if file == "-":
            return {"uri": "stdin"}
        path = os.path.realpath(file)
        name = os.path.relpath(path, os.path.realpath(self._root))
        if name.startswith(os.pardir):
            return {"uri": Path(path).as_uri()}
        return {"uri": quote(name.replace(os.sep, "/")), "uriBaseId": "%SRCROOT%"}


def _version() -> str:
    # Run from a clone that is not installed, there is none.
    return installed_version(DISTRIBUTION) or "0.0.0"


def _rules(named: Iterable[str]) -> list[Rule]:
    wanted = set(named)
    return [one for room in catalogues() for one in room.own.values() if one.id in wanted]


def _rule(rule: Rule) -> dict[str, Any]:
    level = _LEVELS.get(rule.severity, "note")
    lines = [rule.why]
    lines += [f"Expected: {rule.expected}."] if rule.expected else []
    lines += [f"Fix: {rule.fix}."] if rule.fix else []
    lines += [f"Source: {rule.source}."] if rule.source else []
    lines.append(f"launch explain {rule.id} says the same.")
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.id.split("-")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": "\n".join(lines), "markdown": "\n\n".join(lines)},
        "defaultConfiguration": {"level": level},
        "properties": {"problem.severity": _GRADES[level], "tags": ["distributed-training"]},
    }


def _text(text: str) -> str:
    """A message without what a viewer would take for a link."""
    return printable(text).replace("](", "] (")
