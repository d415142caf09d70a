"""What a gitleaks.toml has that our table lacks is shown, and what we have is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.refresh.credential_shapes import LEFT, main, verdicts
from infra.refresh.regex_samples import python_pattern, samples

RULES = r"""
[[rules]]
id = "npm"
regex = '''(?i)\b(npm_[a-z0-9]{36})(?:[\x60'"\s;]|\\[nr]|$)'''
[[rules]]
id = "unheard-of"
regex = '''\b(zzq-(?i)[[:alnum:]]{32})(?:[\x60'"\s;]|\z)'''
[[rules]]
id = "named"
regex = '''(?:client_secret) = "([a-z0-9]{32})"'''
[[rules]]
id = "by-word"
regex = '''(?i)[\w.-]{0,9}(?:zork)[\s'"]{0,3}(?:=|:)[\s'"]{0,5}([a-z0-9]{32})(?:['"\s;]|$)'''
keywords = ["zork"]
[[rules]]
id = "files"
path = '''\.p12$'''
[[rules]]
id = "odd"
regex = '''a(?P>x)'''
"""

LEFT_RULE = "[[rules]]\nid = 'asana-client-id'\nregex = 'asana: ([0-9]{16})'\n"


def test_each_rule_is_told_by_how_we_find_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "rules.toml"
    file.write_text(RULES)
    assert main([str(file)]) == 1
    told = capsys.readouterr().out
    assert "missing: 1 of 6\n  unheard-of\n" in told
    assert "cannot be read: 1 of 6\n  odd\n" in told
    assert "with a name: 1 of 6\nby name: 1 of 6\nby shape: 1 of 6\n" in told
    assert "  npm\n" not in told


def test_nothing_missing_is_a_success(tmp_path: Path):
    file = tmp_path / "rules.toml"
    file.write_text(RULES.split("[[rules]]")[0] + "[[rules]]" + RULES.split("[[rules]]")[1])
    assert main([str(file), "--all"]) == 0


def test_a_rule_that_names_files_alone_is_no_shape():
    assert verdicts([{"id": "files", "path": "x"}]) == {"files": "a path"}


def test_a_rule_that_is_left_is_told_with_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "rules.toml"
    file.write_text(LEFT_RULE)
    assert main([str(file)]) == 0
    told = capsys.readouterr().out
    assert told == f"left out: 1 of 1\n  asana-client-id: {LEFT['asana-client-id']}\n"


def test_a_left_rule_that_is_found_after_all_is_known():
    assert verdicts([{"id": "jwt", "regex": r"npm_[a-z0-9]{36}"}]) == {"jwt": "by shape"}


def test_the_value_is_taken_from_the_group_that_the_rule_names():
    rule = {"regex": r"zork_(login|word)=([a-z0-9]{32})", "keywords": ["zork"], "secretGroup": 2}
    assert verdicts([{"id": "by-word", **rule}]) == {"by-word": "with a name"}


@pytest.mark.parametrize(
    ("pattern", "python"),
    [
        (r"\bab(?i)c\z", r"\bab(?i:c\Z)"),
        (r"(a(?i)b)c", r"(a(?i:b))c"),
        (r"a(?i)b|c", r"a(?i:b)|(?i:c)"),
        (r"[[:alnum:]_]", r"[A-Za-z0-9_]"),
        (r"(?-i:A)", r"(?-i:A)"),
    ],
)
def test_the_flags_of_go_reach_to_the_end_of_their_group(pattern: str, python: str):
    assert python_pattern(pattern) == python


def test_a_sample_holds_what_stands_before():
    assert next(samples(r"(?<=xy)z{3}")) == "xyzzz"
