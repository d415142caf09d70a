"""A rule makes the problems of what breaks it, and is looked up in its room or the shared one."""

from __future__ import annotations

import json

import pytest

from launchers.core.model.problems import Problem
from launchers.core.model.rules import Rule, Rules

RULE = Rule("a-rule", "a title", "Why.", "what is allowed", "what to write", "", "warning")


def test_a_problem_takes_what_is_not_said_from_its_rule():
    assert RULE.at("--x", "7") == Problem(
        "--x", "7", "what is allowed", "what to write", "warning", "a-rule"
    )


def test_what_is_said_counts_more_and_may_be_empty():
    assert RULE.at("--x", "7", "less", "", "error") == Problem(
        "--x", "7", "less", "", "error", "a-rule"
    )


@pytest.fixture
def rooms(tmp_path):
    def room(name, shared=None, **entries):
        folder = tmp_path / name
        folder.mkdir()
        rules = {rule: {"title": title, "why": "Why."} for rule, title in entries.items()}
        (folder / "rules.json").write_text(json.dumps({"about": f"{name}'s", "rules": rules}))
        return Rules(str(folder / "catalogue.py"), shared)

    shared = room("core", common="shared", both="shared")
    return shared, room("cloud", shared, own="own", both="own")


def test_a_room_finds_its_own_rules_before_the_shared_ones(rooms):
    shared, cloud = rooms
    assert cloud["own"].title == cloud["both"].title == "own"
    assert cloud["common"].title == "shared"
    assert list(cloud.own) == ["own", "both"]
    assert cloud.title == "cloud's"
    with pytest.raises(KeyError):
        shared["own"]


def test_the_catalogue_is_read_at_the_first_problem(tmp_path):
    rules = Rules(str(tmp_path / "catalogue.py"))  # there is no such file
    with pytest.raises(FileNotFoundError):
        rules["any"]
