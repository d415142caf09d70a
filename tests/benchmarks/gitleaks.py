"""gitleaks' rules, run by Python's `re` where gitleaks itself cannot be had.

As its documentation and source tell (detect/detect.go at the commit that peers.json names): a rule
is tried where one of its keywords stands; a match counts where its secret has more entropy than the
rule asks for, and no allow list of the rule or of all rules lets it pass. Its decoding of base64
is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tomli

from infra.refresh.regex_samples import python_pattern
from launchers.core.credentials.randomness import entropy


class _Allowed(NamedTuple):
    target: str
    regexes: tuple[re.Pattern[str], ...]
    stop_words: tuple[str, ...]
    all_of_it: bool


class _Rule(NamedTuple):
    pattern: re.Pattern[str]
    keywords: tuple[str, ...]
    group: int
    entropy: float
    allowed: tuple[_Allowed, ...]


class Gitleaks:
    """The rules of a gitleaks.toml; not those that name files alone or cannot be read."""

    def __init__(self, file: Path) -> None:
        table = tomli.loads(file.read_text("utf-8"))
        everywhere = tuple(_allowed(_lists(table)))
        self.rules = []
        for rule in table["rules"]:
            if not rule.get("regex"):
                continue
            try:
                self.rules.append(_rule(rule, everywhere))
            except (ValueError, re.error):
                continue

    def finds(self, text: str) -> bool:
        """Whether any rule finds something in ``text``."""
        folded = text.lower()
        return any(
            _counts(rule, found, text)
            for rule in self.rules
            if not rule.keywords or any(word in folded for word in rule.keywords)
            for found in rule.pattern.finditer(text)
        )


def _lists(table: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    one = table.get("allowlist")
    return [*table.get("allowlists", []), *([one] if one else [])]


def _rule(rule: Mapping[str, Any], everywhere: tuple[_Allowed, ...]) -> _Rule:
    return _Rule(
        re.compile(python_pattern(rule["regex"])),
        tuple(rule.get("keywords", [])),
        rule.get("secretGroup", 0),
        rule.get("entropy", 0.0),
        (*_allowed(_lists(rule)), *everywhere),
    )


def _allowed(lists: Sequence[Mapping[str, Any]]) -> Iterator[_Allowed]:
    for one in lists:
        regexes = tuple(re.compile(python_pattern(text)) for text in one.get("regexes", []))
        words = tuple(word.lower() for word in one.get("stopwords", []))
        # One that needs a path to match is for paths that no case has.
        if (regexes or words) and not (one.get("condition") == "AND" and one.get("paths")):
            yield _Allowed(
                one.get("regexTarget", ""), regexes, words, one.get("condition") == "AND"
            )


def _counts(rule: _Rule, found: re.Match[str], text: str) -> bool:
    secret = found.group(rule.group) if rule.group else next(filter(None, found.groups()), "")
    secret = secret or found.group()
    if rule.entropy and entropy(secret) <= rule.entropy:
        return False
    start, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
    line = text[start : end if end >= 0 else len(text)]
    for one in rule.allowed:
        target = {"match": found.group(), "line": line}.get(one.target, secret)
        asked = [any(regex.search(target) for regex in one.regexes)] if one.regexes else []
        if one.stop_words:
            asked.append(any(word in secret.lower() for word in one.stop_words))
        if all(asked) if one.all_of_it else any(asked):
            return False
    return True
