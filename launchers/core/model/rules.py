"""The catalogue of rules: what each protects from, and the texts of its problems.

Every room has a ``rules.json`` beside its ``catalogue.py``: one entry a rule, under the id that is
printed with a problem and that `launch explain` takes. The file is read at the room's first
problem, so that a request without one does not pay for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from launchers.core.model.problems import Problem, Severity


@dataclass(frozen=True)
class Rule:
    """One rule, as its entry in ``rules.json`` says it.

    Attributes:
        id: Its name in kebab-case, unique over all rooms.
        title: What must hold, in a few words.
        why: What it protects from.
        expected: What is allowed, where that is the same wherever the rule is broken.
        fix: What to write or run instead, where that is always the same.
        source: The page or the API field that the rule comes from; empty for a rule of our own.
        severity: That of its problems, unless one says otherwise.
    """

    id: str
    title: str
    why: str
    expected: str = ""
    fix: str = ""
    source: str = ""
    severity: Severity = "error"

    def at(
        self,
        path: str,
        found: str,
        expected: str | None = None,
        fix: str | None = None,
        severity: Severity | None = None,
    ) -> Problem:
        """The problem of a request that breaks this rule at ``path``.

        Args:
            expected, fix, severity: Instead of the entry's own.
        """
        return Problem(
            path,
            found,
            self.expected if expected is None else expected,
            self.fix if fix is None else fix,
            severity or self.severity,
            self.id,
        )


class Rules:
    """The rules of one room, and those that it shares with the rest of the house.

    Args:
        beside: The room's own module; ``rules.json`` lies in the same folder.
        shared: Where an id is looked up that is not the room's own.
    """

    def __init__(self, beside: str, shared: Rules | None = None):
        self.file = Path(beside).with_name("rules.json")
        self.shared = shared

    def __getitem__(self, rule: str) -> Rule:
        if rule not in self.own and self.shared is not None:
            return self.shared[rule]
        return self.own[rule]

    @cached_property
    def own(self) -> dict[str, Rule]:
        """The room's own rules by their ids, in the order of the file."""
        import json

        entries = json.loads(self.file.read_text(encoding="utf-8"))["rules"]
        return {name: Rule(name, **entry) for name, entry in entries.items()}

    @cached_property
    def title(self) -> str:
        """What the room's rules are about."""
        import json

        return str(json.loads(self.file.read_text(encoding="utf-8"))["about"])
