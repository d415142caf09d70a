"""Problems: how they read, and the words that they are made of."""

from __future__ import annotations

import pytest

from launchers.core.model.problems import (
    EXIT_BAD_REQUEST,
    LaunchError,
    Problem,
    did_you_mean,
    errors,
    first_few,
)


@pytest.mark.parametrize(
    ("fix", "rule", "text"),
    [
        ("", "", "--gpus: 3; expected at most 2"),
        ("Take two", "", "--gpus: 3; expected at most 2. Take two"),
        ("Take two", "gpus", "--gpus: 3; expected at most 2 [gpus]. Take two"),
    ],
)
def test_a_problem_says_where_what_the_rule_and_the_fix(fix: str, rule: str, text: str) -> None:
    problem = Problem("--gpus", "3", "at most 2", fix, rule=rule)

    assert str(problem) == text
    assert problem.severity == "error"


def test_an_error_has_every_problem_and_an_exit_code() -> None:
    one, other = Problem("a", "b", "c"), Problem("d", "e", "f")

    assert LaunchError(one).problems == (one,)
    assert LaunchError(iter([one, other])).problems == (one, other)
    assert str(LaunchError([one, other])) == f"{one}\n{other}"
    assert LaunchError(one).exit_code == EXIT_BAD_REQUEST


def test_only_errors_stop_a_request() -> None:
    found = [Problem("a", "b", "c", severity=s) for s in ("warning", "error", "unknown", "ok")]  # type: ignore[arg-type]

    assert errors(found) == [found[1]]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("instnaces", "did you mean instances?"),
        ("MAX_RUNTIME", "did you mean max-runtime?"),
        ("zzz", ""),
    ],
)
def test_the_nearest_word_is_named_whatever_its_case(word: str, said: str) -> None:
    assert did_you_mean(word, ["instances", "max-runtime"]) == said


def test_many_names_are_a_few_and_a_number():
    assert first_few(["a", "b", "c"]) == "a, b, c"
    assert first_few(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
