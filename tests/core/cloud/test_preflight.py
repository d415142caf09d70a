"""Checks side by side, one table of answers."""

from __future__ import annotations

import threading

import pytest

from launchers.core.cloud.preflight import answers_of, good, unknown, wrong
from launchers.core.model.problems import Problem
from tests.core.cloud.memory import DENIED, EXPIRED, REFUSED, Clock, CloudError, MemoryCloud

CLOUD = MemoryCloud(Clock())


def one() -> list[Problem]:
    """one: the first"""
    return [good("role", "fine")]


def failing(kind: str) -> list[Problem]:
    raise CloudError(kind)


def test_answers_come_in_the_order_of_their_checks():
    begun = threading.Event()

    def late() -> list[Problem]:
        """late: waits for the other one"""
        assert begun.wait(60)
        return [wrong("bucket", "a", "b", "c")]

    def early() -> list[Problem]:
        """early: runs beside it"""
        begun.set()
        return [unknown("quota", "who knows")]

    found = answers_of(CLOUD, [late, early, one])
    assert [(answer.path, answer.severity) for answer in found] == [
        ("bucket", "error"),
        ("quota", "unknown"),
        ("role", "ok"),
    ]
    assert [answer.rule for answer in found] == [
        "preflight-bucket",
        "preflight-quota",
        "preflight-role",
    ]


@pytest.mark.parametrize(
    ("kind", "expected"), [(DENIED, "a caller who may ask"), (REFUSED, "an answer")]
)
def test_a_check_that_may_not_be_made_stops_nothing(kind: str, expected: str):
    def check() -> list[Problem]:
        """role: iam GetRole"""
        return failing(kind)

    (found,) = answers_of(CLOUD, [check])
    assert (found.path, found.severity, found.expected) == ("role", "unknown", expected)


def test_bad_credentials_are_one_problem():
    found = answers_of(CLOUD, [lambda: failing(EXPIRED), one, lambda: failing(EXPIRED)])
    assert [(answer.path, answer.severity, answer.fix) for answer in found] == [
        ("identity", "error", "remember")
    ]


def test_a_defect_of_a_check_is_not_hidden():
    def check() -> list[Problem]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        answers_of(CLOUD, [check])
