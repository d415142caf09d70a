"""Problems as a program reads them."""

from __future__ import annotations

from launchers.cli.show.as_json import error_answer, problem_as_json, value_as_json
from launchers.core.model.problems import EXIT_PREFLIGHT, Problem

KEY = "AKIA" + "QWERTYUIOPASDFGH"


def test_a_problem_is_an_object_with_its_rule_and_what_to_do():
    problem = Problem("--gpus", "9", "at most 8", "write --gpus 8", rule="gpus-count")

    assert problem_as_json(problem) == {
        "rule": "gpus-count",
        "severity": "error",
        "path": "--gpus",
        "found": "9",
        "expected": "at most 8",
        "fix": "write --gpus 8",
    }


def test_no_credential_stands_in_a_problem():
    problem = Problem(f"--env {KEY}", f"{KEY}", f"not {KEY}", f"leave {KEY} out", rule="secret")

    assert KEY not in str(problem_as_json(problem))


def test_no_credential_stands_in_a_value_of_a_file():
    values = {"env": {"A": KEY, "B": 1}, "args": ["--key", f"k={KEY}"], "gpus": None}

    shown = value_as_json(values)

    assert KEY not in str(shown)
    assert (shown["env"]["B"], shown["gpus"], shown["args"][0]) == (1, None, "--key")


def test_an_error_has_the_exit_code_and_each_problem_once():
    one, other = Problem("a", "b", "c", rule="x"), Problem("a", "b", "d", rule="x")

    answer = error_answer(EXIT_PREFLIGHT, [one, other, one])

    assert answer["error"]["exit_code"] == 4
    assert [problem["expected"] for problem in answer["error"]["problems"]] == ["c", "d"]
