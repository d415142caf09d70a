"""Every problem comes from a rule, and every rule has its entry, its use and its test."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

from infra.refresh.rules_page import FILE, page
from launchers.core.catalogue import RULES as SHARED
from launchers.core.catalogue import catalogues
from launchers.core.model.rules import Rule

CLONE = Path(__file__).parents[2]
PACKAGE = CLONE / "launchers"
ROOMS = {room.file.parent.relative_to(PACKAGE).as_posix(): room for room in catalogues()}
ENTRIES = [(name, rule) for name, room in ROOMS.items() for rule in room.own.values()]
# Rooms of core whose rules other rooms use as well.
SHARED_BY = {"core/spark": ("core", "spark", "databricks")}
# The one place where a problem is made.
MAKER = PACKAGE / "core" / "model" / "rules.py"


@lru_cache(maxsize=1)
def nodes() -> list[tuple[Path, ast.AST]]:
    """Every node of the product's syntax trees, with its file."""
    files = sorted(PACKAGE.rglob("*.py"))
    return [(file, node) for file in files for node in ast.walk(ast.parse(file.read_bytes()))]


def used() -> Iterator[tuple[Path, int, str]]:
    """File, line and id of every ``RULES[...]``; an id with a variable part is a pattern."""
    for file, node in nodes():
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Name)
            and node.value.id == "RULES"
        ):
            yield file, node.lineno, id_of(node.slice)


def id_of(node: ast.expr) -> str:
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    texts = [part.value if isinstance(part, ast.Constant) else None for part in parts]
    return "".join("[a-z0-9-]+" if text is None else re.escape(str(text)) for text in texts)


def called(function: ast.expr) -> str | None:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None


def matching(pattern: str) -> list[tuple[str, Rule]]:
    return [(name, rule) for name, rule in ENTRIES if re.fullmatch(pattern, rule.id)]


def test_an_id_occurs_once_in_all_catalogues():
    ids = [rule.id for _, rule in ENTRIES]
    assert len(ids) > 200
    assert sorted(ids) == sorted(set(ids))


def test_an_entry_says_what_it_protects_from_in_short_sentences():
    for _, rule in ENTRIES:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.id)
        assert re.fullmatch(r".{5,68}[^.]", rule.title), rule
        assert re.fullmatch(r".{5,250}\.", rule.why), rule
        assert rule.severity in ("error", "warning"), rule


def test_every_problem_is_made_by_a_rule():
    made = [
        f"{file}:{node.lineno}"
        for file, node in nodes()
        if isinstance(node, ast.Call) and called(node.func) == "Problem"
        if file != MAKER
    ]
    assert made == []


def test_a_room_uses_its_own_rules_and_those_that_all_share():
    for file, line, pattern in used():
        room = file.relative_to(PACKAGE).parts[0]
        usable = {"core", room, *(name for name, users in SHARED_BY.items() if room in users)}
        seen = [rule for name, rule in matching(pattern) if name in usable]
        assert seen, f"{file}:{line}: {pattern} is in no catalogue"


def test_every_rule_of_the_catalogues_is_used():
    patterns = {pattern for _, _, pattern in used()}
    unused = [r.id for _, r in ENTRIES if not any(re.fullmatch(one, r.id) for one in patterns)]
    assert unused == []


def test_every_rule_is_named_by_a_test():
    """As a text of its own, in a list of ids, or in brackets as a message has it."""
    ids = {rule.id for _, rule in ENTRIES}
    named: set[str] = set()
    for file in (CLONE / "tests").rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        if not any(one in source for one in ids - named):
            continue
        for node in ast.walk(ast.parse(source)):
            if file != Path(__file__) and isinstance(node, ast.Constant):
                text = str(node.value)
                named |= set(re.findall(r"\[([a-z0-9-]+)\]", text))
                named |= {*text.split()} if {*text.split()} <= ids else set()
    assert sorted(ids - named) == []


def test_a_problem_takes_the_entrys_texts_unless_it_has_its_own():
    rule = Rule("a-rule", "It holds", "It protects.", "this", "do that", severity="warning")
    assert str(rule.at("x", "y")) == "x: y; expected this [a-rule]. do that"
    assert rule.at("x", "y").severity == "warning"
    mine = rule.at("x", "y", "z", "", "error")
    assert (str(mine), mine.severity) == ("x: y; expected z [a-rule]", "error")


def test_an_unknown_id_is_a_defect():
    with pytest.raises(KeyError):
        SHARED["no-such-rule"]


def test_the_page_of_rules_is_current():
    assert FILE.read_text(encoding="utf-8") == page(), "python -m infra.refresh.rules_page"
