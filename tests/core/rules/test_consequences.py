"""All mistakes of a request are told at once, and none twice."""

from __future__ import annotations

import re

import pytest

from launchers.core.model.problems import Problem
from launchers.core.rules.consequences import later_problems
from launchers.core.spec.job import JobSpec
from tests.core.in_memory import memory_provider, planned, script

ENV = Problem("$.environment.TOKEN", "x", "y", rule="credential")
SIZE = Problem("$.gpus", "3", "4", rule="size")
WARNING = Problem("$.name", "x", "y", severity="warning", rule="name")


@pytest.fixture
def provider():
    made = memory_provider()
    made.definer.document_problems = [ENV, SIZE, WARNING]
    made.definer.knock_on_errors = {"machine-gpus": re.escape("$.gpus")}
    return made


@pytest.fixture
def plan(tmp_path):
    return planned(JobSpec(script=str(script(tmp_path)), source=str(tmp_path)))


def test_the_documents_errors_are_told_with_those_of_the_flags(provider, plan):
    told = [Problem("--name", "x", "y", rule="other")]
    assert later_problems(provider, plan, told) == [ENV, SIZE]


def test_but_for_those_that_follow_from_a_flag(provider, plan):
    told = iter([Problem("--machine", "x", "y", rule="machine-gpus")])
    assert later_problems(provider, plan, told) == [ENV]


def test_and_for_those_of_a_variable_that_was_named(provider, plan):
    told = [Problem("--env TOKEN", "x", "y", rule="env")]
    provider.definer.document_problems = [
        Problem("$.env.TOKEN", "x", "y"),
        Problem("$.Environment.TOKEN", "x", "y"),
        SIZE,
    ]
    assert later_problems(provider, plan, told) == [SIZE]


def test_without_a_document_to_speak_of_there_are_none(provider, plan):
    provider.definer.knock_on_errors = {}
    assert later_problems(provider, plan, [SIZE]) == []
