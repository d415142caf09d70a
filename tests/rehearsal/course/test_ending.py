"""Which container's end is the job's end."""

from __future__ import annotations

import pytest

from launchers.rehearsal.course.ending import EndRules, described
from launchers.rehearsal.engine.output import Exit


def judge(
    *events: tuple[str, int, float], until: float = 0.0
) -> tuple[str, int | None, str] | None:
    """The ending after exits (container, code, second) and then a look at second ``until``."""
    rules = EndRules("algo-1", 60.0)
    for container, code, now in events:
        ending = rules.exited(Exit(container, code), now)
        if ending is not None:
            return ending.container, ending.code, ending.fault
    ending = rules.overdue(until)
    return None if ending is None else (ending.container, ending.code, ending.fault)


@pytest.mark.parametrize(
    ("name", "events", "until", "expected"),
    [
        ("the leader's 0 is the job's", [("algo-1", 0, 5.0)], 0.0, ("algo-1", 0, "")),
        (
            "a worker's 0 shortly before the leader's is how a good job ends",
            [("algo-2", 0, 5.0), ("algo-1", 0, 6.0)],
            0.0,
            ("algo-1", 0, ""),
        ),
        (
            "a worker's 0 without the leader's within 60 s is a fault",
            [("algo-2", 0, 5.0)],
            65.0,
            ("algo-2", 0, "algo-2 ended with code 0, and algo-1 has not followed in 60 s"),
        ),
        ("a worker's 0 is waited on for 60 s", [("algo-2", 0, 5.0)], 64.9, None),
        (
            "the 60 s count from the first worker",
            [("algo-2", 0, 5.0), ("algo-3", 0, 60.0)],
            65.0,
            ("algo-2", 0, "algo-2 ended with code 0, and algo-1 has not followed in 60 s"),
        ),
        (
            "a worker's bad code is the rules",
            [("algo-2", 3, 5.0)],
            0.0,
            ("algo-2", 3, "algo-2 ended with code 3"),
        ),
        (
            "a killed worker is the rules",
            [("algo-2", 137, 5.0)],
            0.0,
            ("algo-2", 137, "algo-2 ended with code 137 (SIGKILL)"),
        ),
        (
            "the leader's bad code is the rules",
            [("algo-2", 0, 1.0), ("algo-1", 1, 5.0)],
            0.0,
            ("algo-1", 1, "algo-1 ended with code 1"),
        ),
        ("nothing has ended", [], 1000.0, None),
    ],
)
def test_verdict(
    name: str,
    events: list[tuple[str, int, float]],
    until: float,
    expected: tuple[str, int | None, str] | None,
) -> None:
    assert judge(*events, until=until) == expected, name


DECIDES = "and the service would start it again"
# exits (container, code, second); the second of a look; the ending
LEADER_DECIDES = {
    "the leader's own code follows a worker's": (
        [("b", 3, 5.0), ("a", 6, 9.0)], 0.0, ("a", 6, "a ended with code 6"),
    ),
    "the leader goes on without it": (
        [("b", 3, 5.0)], 17.0, ("b", 3, f"b ended with code 3, {DECIDES}"),
    ),
    "the leader is waited for": ([("b", 3, 5.0)], 16.9, None),
    "the leader calls it a success": (
        [("b", 3, 5.0), ("a", 0, 6.0)], 0.0,
        ("a", 0, "b ended with code 3, and a with code 0 all the same"),
    ),
    "a good end": ([("b", 0, 5.0), ("a", 0, 6.0)], 0.0, ("a", 0, "")),
}  # fmt: skip


@pytest.mark.parametrize("case", LEADER_DECIDES)
def test_where_the_service_looks_at_the_leader_alone(case: str) -> None:
    exits, until, expected = LEADER_DECIDES[case]
    rules = EndRules("a", 60.0, 12.0, DECIDES.removeprefix("and "))
    endings = [rules.exited(Exit(name, code), now) for name, code, now in exits]
    ending = endings[-1] or rules.overdue(until)
    found = None if ending is None else (ending.container, ending.code, ending.fault)
    assert found == expected


@pytest.mark.parametrize(
    ("exit_", "text"),
    [
        (Exit("algo-2", 143), "algo-2 ended with code 143 (SIGTERM)"),
        (Exit("algo-2", 200), "algo-2 ended with code 200"),
        (Exit("algo-2", None, error="it was removed"), "algo-2: it was removed"),
        (
            Exit("algo-1", 137, out_of_memory=True),
            "algo-1 reached its memory limit, and the kernel ended it (code 137)",
        ),
    ],
)
def test_a_bad_end_is_told_in_one_line(exit_: Exit, text: str) -> None:
    assert described(exit_) == text
