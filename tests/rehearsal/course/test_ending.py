"""Which container's end is the job's end."""

from __future__ import annotations

import pytest

from launchers.rehearsal.course.ending import EndRules, described
from launchers.rehearsal.engine.output import Exit


def ending_of(
    rules: EndRules, exits: list[tuple[str, int, float]], until: float
) -> tuple[str, int | None, str] | None:
    """The ending after exits, and then a look at second ``until``."""
    endings = [rules.exited(Exit(name, code), now) for name, code, now in exits]
    found = next(filter(None, endings), None) or rules.overdue(until)
    return None if found is None else (found.container, found.code, found.fault)


SILENT = "algo-2 ended with code 0, and algo-1 has not followed in 60 s"
# exits (container, code, second); the second of a look; the ending
ENDS = {
    "the leader's 0 is the job's": ([("algo-1", 0, 5.0)], 0.0, ("algo-1", 0, "")),
    "a worker's 0 shortly before the leader's is how a good job ends": (
        [("algo-2", 0, 5.0), ("algo-1", 0, 6.0)], 0.0, ("algo-1", 0, ""),
    ),
    "a worker's 0 without the leader's within 60 s is a fault": (
        [("algo-2", 0, 5.0)], 65.0, ("algo-2", 0, SILENT),
    ),
    "a worker's 0 is waited on for 60 s": ([("algo-2", 0, 5.0)], 64.9, None),
    "the 60 s count from the first worker": (
        [("algo-2", 0, 5.0), ("algo-3", 0, 60.0)], 65.0, ("algo-2", 0, SILENT),
    ),
    "a worker's bad code is the job's": (
        [("algo-2", 3, 5.0)], 0.0, ("algo-2", 3, "algo-2 ended with code 3"),
    ),
    "a killed worker's code is the job's": (
        [("algo-2", 137, 5.0)], 0.0, ("algo-2", 137, "algo-2 ended with code 137 (SIGKILL)"),
    ),
    "the leader's bad code is the job's": (
        [("algo-2", 0, 1.0), ("algo-1", 1, 5.0)], 0.0, ("algo-1", 1, "algo-1 ended with code 1"),
    ),
    "nothing has ended": ([], 1000.0, None),
}  # fmt: skip


@pytest.mark.parametrize("case", ENDS)
def test_one_containers_end_is_the_jobs(case: str) -> None:
    exits, until, expected = ENDS[case]
    assert ending_of(EndRules("algo-1", 60.0), exits, until) == expected


DECIDES = "and the service would start it again"
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
    assert ending_of(rules, exits, until) == expected


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
