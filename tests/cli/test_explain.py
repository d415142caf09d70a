"""`launch explain`: one rule, all of them, and a word that is none."""

from __future__ import annotations

import json

from tests.cli.command import Launch


def test_a_rule_is_explained_by_the_word_that_a_problem_names(launch: Launch):
    for word in ("volume-key-nvme", "[volume-key-nvme]"):
        answer = launch("explain", word)
        assert answer.code == 0
        assert answer.out.startswith("volume-key-nvme: A machine with local storage")
        assert "NVMe storage, which encrypts itself." in answer.out
        assert "leave --volume-key out" in answer.out
        assert "ResourceConfig.VolumeKmsKeyId" in answer.out


def test_a_rule_as_json_has_every_field(launch: Launch):
    answer = json.loads(launch("explain", "spot-wait", "--json").out)
    assert answer["id"] == "spot-wait"
    assert {*answer} == {"id", "title", "why", "expected", "fix", "source", "severity"}


def test_all_rules_are_listed_with_their_part_of_the_launcher(launch: Launch):
    rows = launch("explain").out.splitlines()
    assert rows[0].split()[:2] == ["RULE", "ABOUT"]
    ids = {row.split()[0] for row in rows[1:]}
    assert {"spot-wait", "flex-start", "world-size", "flag-unknown", "disk-full"} <= ids
    assert {one["id"] for one in json.loads(launch("explain", "--json").out)} == ids


def test_a_word_that_is_no_rule_gets_the_nearest_one(launch: Launch):
    answer = launch("explain", "spotwait")
    assert (answer.code, answer.out) == (2, "")
    assert "did you mean spot-wait?" in answer.err
    assert "[rule-unknown]" in answer.err
