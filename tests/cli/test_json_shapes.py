"""The shapes of the ``--json`` answers: schemas, their page, and which verbs have one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import click
import pytest
from jsonschema import Draft202012Validator

from infra.refresh.json_page import FILE, page
from launchers.cli.answers.catalogue import ANSWERS, shape_of
from launchers.cli.answers.schema import _Shapes, schema
from launchers.cli.answers.shape import OneOf, Time
from launchers.cli.main import cli
from launchers.cli.show.as_json import job_as_json
from launchers.cli.verb_table import VERBS
from launchers.core.model.jobs import JobHandle, JobStatus
from launchers.core.registry import PROVIDERS
from tests.cli import answers

# What they print is for people, or for a shell.
NO_ANSWER = {"help", "completion"}
# Not of a verb of that name.
OF_NO_VERB = {"problems", "plan", "run", "version", "scaling-plan"}


def verbs() -> Iterator[tuple[str, click.Command]]:
    """Every verb by the name that its answer has."""
    with click.Context(cli) as context:
        for name in VERBS:
            command = cli.get_command(context, name)
            assert command
            if name == "scaling":  # one answer, whichever provider it is asked for
                assert isinstance(command, click.Group)
                yield from ((name, each) for each in command.commands.values())
            elif isinstance(command, click.Group):
                yield from ((f"{name}-{one}", each) for one, each in command.commands.items())
            else:
                yield name, command


def test_every_verb_answers_with_json_in_a_shape_of_the_catalogue():
    takes = {name: any("--json" in one.opts for one in verb.params) for name, verb in verbs()}
    shaped = {name for name in ANSWERS if name not in OF_NO_VERB}
    without = {name for name in takes if name.partition("-")[0] in NO_ANSWER}

    assert {name for name, json in takes.items() if not json} == without
    assert takes.keys() - without - {*PROVIDERS, "schema"} == shaped


@pytest.mark.parametrize("name", ANSWERS)
def test_the_schema_of_an_answer_is_one_and_every_object_says_what_it_is(name: str):
    found = schema(name)

    Draft202012Validator.check_schema(found)
    assert all(one["description"] for one in found["$defs"].values())
    assert all(one["additionalProperties"] is False for one in found["$defs"].values())


def test_the_page_of_answers_is_current():
    assert FILE.read_text(encoding="utf-8") == page(), "python -m infra.refresh.json_page"


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (int | None, {"type": ["integer", "null"]}),
        (Annotated[list[float], "seconds"], {"type": "array", "items": {"type": "number"}}),
        (dict[str, Any], {"type": "object", "additionalProperties": {}}),
        (Literal["a", "b"], {"enum": ["a", "b"]}),
        (Annotated[str, OneOf(("a", "b"))], {"type": "string", "enum": ["a", "b"]}),
    ],
)
def test_a_type_has_the_schema_of_its_json(shape: Any, expected: dict[str, Any]):
    found = _Shapes().of(shape)

    assert found.pop("description", "seconds") == "seconds"
    assert found == expected


def test_a_type_that_is_no_json_is_a_defect():
    with pytest.raises(TypeError, match="no JSON schema"):
        _Shapes().of(set[str])


def test_a_time_that_is_not_utc_does_not_fit():
    validator = Draft202012Validator(_Shapes().of(Time))

    assert validator.is_valid("2025-12-01T00:00:00.250Z")
    assert not validator.is_valid("2025-12-01T00:00:00.250+01:00")
    assert not validator.is_valid("2025-12-01 00:00:00")


def test_an_answer_with_a_field_that_is_not_documented_does_not_fit():
    with pytest.raises(AssertionError, match="Additional properties"):
        answers.fits("version", {"version": "1", "more": 1})


def test_of_what_a_provider_keeps_of_a_job_only_the_documented_is_shown(monkeypatch: Any, tmp_path):
    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path))
    failure = {"rank": 0, "host": "a", "stamp": "x", "reason": "it broke"}
    details = {"supervisor": "1", "sent": 1.5, "region": "r", "failure": failure, "created": 0.5}

    found = job_as_json(JobHandle("local", "a"), JobStatus("failed", "it broke", details=details))

    answers.fits("status", found)
    assert not {"supervisor", "sent"} & found.keys()
    assert found["region"] == "r"
    assert found["created"] == "1970-01-01T00:00:00.500Z"
    assert found["failure"] == {"rank": 0, "host": "a", "reason": "it broke"}
    assert shape_of("status") is shape_of("wait")
