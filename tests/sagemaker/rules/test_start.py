"""What our own way of starting needs, and what a check says was found in its place."""

from __future__ import annotations

from typing import Any

import pytest

from launchers.sagemaker.rules.document import check
from tests.sagemaker.documents import captured, plain
from tests.sagemaker.rules.test_document import OPTIONS, hyper, put

HYPER = "$.HyperParameters"
PROGRAM, DIRECTORY = "sagemaker_program", "sagemaker_submit_directory"
SCRIPT, MODULE, ARGS = (f"sagemaker_launch_{name}" for name in ("script", "module", "args"))


def found(document: Any, rule: str) -> list[tuple[str, str]]:
    problems = [one for one in check(document) if one.rule == rule]
    assert all(one.severity == "error" for one in problems)
    return [(one.path, one.found) for one in problems]


# (hyperparameter, its text or None, rule, what was found).
VALUES = [
    (PROGRAM, None, "start-guard", "missing"),
    (PROGRAM, '"train.py"', "start-guard", "train.py"),
    (PROGRAM, "x" * 100, "start-guard", "x" * 80),
    (DIRECTORY, None, "start-guard", "missing"),
    (DIRECTORY, '"s3://bucket/code.tar.gz"', "start-guard", "s3://bucket/code.tar.gz"),
    (SCRIPT, None, "start-script", "missing"),
    (SCRIPT, '""', "start-script", ""),
    (SCRIPT, "3", "start-script", "3"),
    (SCRIPT, f"[{'1' * 100}]", "start-script", "[" + "1" * 39),
    (ARGS, None, "start-script", "missing"),
    (ARGS, '"x"', "start-script", "x"),
    (ARGS, '["--epochs", 3]', "start-script", "['--epochs', 3]"),
    (ARGS, "x" * 100, "start-script", "x" * 40),
    (OPTIONS, "3", "mpi-option", "3"),
    (OPTIONS, f"[{'1' * 100}]", "mpi-option", "[" + "1" * 39),
]


@pytest.mark.parametrize(("name", "text", "rule", "shown"), VALUES)
def test_a_value_of_our_own_start_is_told_as_it_was_found(
    name: str, text: str | None, rule: str, shown: str
):
    document = plain()
    hyper(name, text)(document)
    assert found(document, rule) == [(f"{HYPER}.{name}", shown)]


@pytest.mark.parametrize(("text", "shown"), [('""', ""), ("3", "3"), ('"pkg.train"', None)])
def test_a_module_in_the_scripts_place_is_a_name(text: str, shown: str | None):
    document = plain()
    hyper(SCRIPT, None)(document)
    hyper(MODULE, text)(document)
    wanted = [] if shown is None else [(f"{HYPER}.{MODULE}", shown)]
    assert found(document, "start-script") == wanted


def test_a_script_beside_a_module_is_shown_by_its_first_forty_characters():
    document = plain()
    hyper(MODULE, '"pkg.train"')(document)
    hyper(SCRIPT, "x" * 100)(document)
    assert found(document, "start-script") == [(f"{HYPER}.{SCRIPT}", "x" * 40)]


@pytest.mark.parametrize("program", ['"train.py"', '"a.py"'])
def test_where_another_program_starts_the_script_is_not_asked_for(program: str):
    document = plain()
    hyper(PROGRAM, program)(document)
    hyper(SCRIPT, None)(document)
    assert len(found(document, "start-guard")) == 1
    assert found(document, "start-script") == []


def test_the_code_channel_may_stand_among_others():
    document = plain()
    other = {**document["InputDataConfig"][0], "ChannelName": "training"}
    document["InputDataConfig"].append(other)
    assert found(document, "start-guard") == []


def test_without_mpi_no_variable_needs_to_be_carried():
    document = plain()
    hyper(OPTIONS, None)(document)
    names = {f"$.Environment.{name}" for name in document["Environment"]}
    assert {path for path, _ in found(document, "start-environment")} == names
    hyper("sagemaker_mpi_enabled", None)(document)
    assert found(document, "start-environment") == []


@pytest.mark.parametrize("value", ["a#b", "a\nb", "a\rb", 'a"b', "a'b"])
def test_each_sign_that_cuts_a_value_on_other_hosts_is_warned_of(value: str):
    document = captured("v2_tf_mpi_minimal.json")
    put("Environment", {"NCCL_DEBUG": value, "CUT": value, "WHOLE": "a b"})(document)
    told = [(one.path, one.severity) for one in check(document) if one.rule == "start-environment"]
    assert told == [("$.Environment.CUT", "warning")]
