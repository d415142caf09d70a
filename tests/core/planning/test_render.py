"""Rendering is strict: nothing undefined, nothing unquoted, always the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from launchers.core.planning.plan import Plan
from launchers.core.planning.render import _template, render
from launchers.core.spec.job import JobSpec
from tests.core.in_memory import planned


@pytest.fixture
def templates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "x").mkdir()
    monkeypatch.setattr("launchers.core.planning.render.templates_folder", lambda: tmp_path)
    _template.cache_clear()
    return tmp_path / "x"


def plan(**environment: str) -> Plan:
    return planned(JobSpec(instances=2, processes=4, environment=environment))


def test_a_name_that_is_not_there_is_an_error(templates: Path):
    (templates / "t").write_text('{"a": {{ plan.nosuch | tojson }}}')
    with pytest.raises(Exception, match="nosuch"):
        render("x", "t", plan())


def test_a_value_without_tojson_is_an_error(templates: Path):
    (templates / "t").write_text('{"a": {{ plan.instances }}}')
    with pytest.raises(TypeError, match="tojson"):
        render("x", "t", plan())


@pytest.mark.parametrize("value", ['"', "\\", "\n", "{{ 1 }}", "</script>", "é\u2028", "}", "'"])
def test_no_value_changes_the_documents_shape(templates: Path, value: str):
    (templates / "t").write_text('{"a": {{ job.environment | tojson }}}')
    definition = render("x", "t", plan(A=value))
    assert definition.document == {"a": {"A": value}}
    assert json.loads(definition.text) == {"a": {"A": value}}


def test_a_field_that_the_plan_leaves_none_is_left_out_unless_the_document_says_nulls(
    templates: Path,
):
    (templates / "t").write_text('{"a": {{ job.name | tojson }}, "b": [{"c": null, "d": 1}]}')
    assert render("x", "t", plan()).document == {"b": [{"d": 1}]}
    assert render("x", "t", plan(), nulls=True).document == {"a": None, "b": [{"c": None, "d": 1}]}


def test_the_same_plan_gives_the_same_bytes(templates: Path):
    (templates / "t").write_text('{"b": {{ job.environment | tojson }},   "a": 1}')
    texts = {render("x", "t", plan(Z="1", A="2")).text for _ in range(5)}
    assert texts == {'{\n  "b": {\n    "Z": "1",\n    "A": "2"\n  },\n  "a": 1\n}\n'}


def test_what_is_no_json_is_an_error(templates: Path):
    (templates / "t").write_text('{"a": }')
    with pytest.raises(json.JSONDecodeError):
        render("x", "t", plan())
