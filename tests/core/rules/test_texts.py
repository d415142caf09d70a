"""Texts that no request can hold."""

from __future__ import annotations

from launchers.core.rules.texts import problems_in_texts


def test_each_text_that_is_no_utf_8_is_told_by_its_place():
    document = {"a": ["ü", "x\udcff"], "b": {"C": "\udcfe", "\udcfd": 1}, "d": None, "e": 2}
    problems = problems_in_texts(document)
    assert [one.path for one in problems] == ["$.a[1]", "$.b.C", '$.b["\udcfd"]']
    assert {one.rule for one in problems} == {"file-text"}
    assert problems_in_texts({"a": ["ü", {"b": "\\udcff"}]}) == []
