"""Checks that ask an account what would stop a job: run side by side, answered in one table.

A check is a function that gives its answers, those that are well included; the first words of its
docstring, up to the colon, are its name in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from launchers.core.catalogue import RULES
from launchers.core.cloud.errors import Cloud
from launchers.core.model.problems import Problem, Severity
from launchers.core.threads import begun

Check = Callable[[], list[Problem]]


def answers_of(cloud: Cloud, checks: Sequence[Check]) -> list[Problem]:
    """All answers in the order of ``checks``. Blocks for the slowest of them.

    A check that the caller may not make, or that the service does not answer, is ``unknown``.
    """
    found: list[list[Problem] | Exception] = [[] for _ in checks]

    def make(index: int) -> None:
        try:
            found[index] = _guarded(cloud, checks[index])
        except Exception as error:
            found[index] = error

    for thread in [begun(partial(make, index)) for index in range(len(checks))]:
        if thread is not None:
            thread.join()
    answers = []
    for one in found:
        if isinstance(one, Exception):
            raise one
        answers += one
    return _told_once(answers)


def answer(name: str, found: str, expected: str, fix: str, severity: Severity) -> Problem:
    """One line of the table."""
    word = name.replace("'s", "").replace(" ", "-")
    return RULES[f"preflight-{word}"].at(name, found, expected, fix, severity)


def good(name: str, found: str) -> Problem:
    """It was looked at and is well."""
    return answer(name, found, "", "", "ok")


def how_to_push(image: str) -> str:
    """The way on where ``image`` is not in its registry."""
    name = image.partition("@")[0]
    return f"push it, or ours: launch image build [--with STRATEGY] --push {name}"


def unknown(name: str, found: str) -> Problem:
    """It cannot be looked at."""
    return answer(name, found, "a check that can be made", "", "unknown")


def wrong(name: str, found: str, expected: str, fix: str) -> Problem:
    """It would stop the job."""
    return answer(name, found, expected, fix, "error")


def _guarded(cloud: Cloud, check: Check) -> list[Problem]:
    try:
        return check()
    except cloud.errors as error:
        if cloud.is_expired(error):
            return [replace(cloud.credentials_problem(error), path="identity")]
        name = (check.__doc__ or check.__name__).partition(":")[0]
        expected = "a caller who may ask" if cloud.is_denied(error) else "an answer"
        return [answer(name, cloud.message_of(error), expected, "", "unknown")]


def _told_once(answers: list[Problem]) -> list[Problem]:
    """Bad credentials spoil every call; they are one problem."""
    bad = [one for one in answers if one.rule == "cloud-credentials"]
    return bad[:1] or answers
