"""State and reason of a rehearsal's end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from launchers.cli.show.rehearsal_result import say_result
from launchers.cli.show.screen import Screen
from launchers.core.model.containers import Cause
from launchers.core.model.jobs import LogLine
from launchers.core.output.mpirun import untangled
from launchers.rehearsal.course.attempt import ENDED, ENGINE_LOST, TIMED_OUT, AttemptEnd, Seen
from launchers.rehearsal.course.causes import Causes
from launchers.rehearsal.course.ending import Ending
from launchers.rehearsal.course.outcome import RehearsalResult, copies_of, judged
from launchers.rehearsal.staging.expected import Expected
from tests.rehearsal.boxes import box

GOOD = Ending("algo-1", 0)
FOUR = Expected(4, 2, document_world_size=8)
UNSTAMPED = "its document carries no nonce: the verdict rests on the job's own log lines"
KNOWN = (Cause(r"noticed that rank (\d+) went", "rank {0} was killed"),)


def hosts(ranks: int = 2) -> list[Any]:
    """Two hosts; with ``ranks`` 0 each is a job of its own."""
    return [
        box(number, "", ranks=tuple(range((number - 1) * ranks, number * ranks)))
        for number in (1, 2)
    ]


def seen(lines: Sequence[str], proofs: dict[str, str]) -> Seen:
    """What an attempt showed that printed ``lines`` on algo-1, and from whose hosts proofs came."""
    found = Seen(FOUR.watch(), Causes(KNOWN), dict(proofs))
    for host, text in proofs.items():
        found.watch.see(LogLine(0.0, host, 0, f"launch: proof: {text}"))
    for text in lines:
        for line in untangled(text, 0.0, "algo-1"):
            found.watch.see(line)
            found.causes.see(line)
    return found


PROOF = "world size 4: 2 hosts x 2 ranks, MPI"


# the ending; ranks a host (0: each is a job of its own); lines; proofs; state; reason
CASES = {
    "proven": (GOOD, 2, [], {"algo-1": PROOF}, "succeeded", ""),
    "no proof": (
        GOOD, 2, [], {}, "not proven",
        "completed, but no line of its output proves world size 4",
    ),
    "no proof from hosts that are jobs of their own": (
        GOOD, 0, ["mpirun noticed that rank 3 went"], {}, "not proven",
        ("completed, but no line of its output proves world size 4 (2 jobs of world size 1 "
        "where one of 4 was expected; rank 3 was killed)"),
    ),
    "a rank failed and the toolkit could not say so": (
        GOOD, 2, ['launch: failure: {"rank": 3, "host": "algo-2", "reason": "KeyError"}'],
        {"algo-1": PROOF}, "failed",
        "rank 3 on algo-2 failed first: KeyError (the containers ended with 0 all the same)",
    ),
    "a proof of another size": (
        GOOD, 2, [], {"algo-1": "world size 2: 1 host x 2 ranks, MPI"}, "not proven",
        ("completed, but it proved another job: world size 2: 1 host x 2 ranks, MPI; expected "
        "world size 4 on 2 hosts"),
    ),
    "the right size on one host": (
        GOOD, 2, [], {"algo-1": "world size 4: 1 host x 4 ranks, MPI"}, "not proven",
        ("completed, but it proved another job: world size 4: 1 host x 4 ranks, MPI; expected "
        "world size 4 on 2 hosts"),
    ),
    "each host proved a job of its own": (
        GOOD, 0, [],
        dict.fromkeys(("algo-1", "algo-2"), "world size 1: 1 host x 1 rank, MPI"),
        "not proven",
        ("completed, but as 2 jobs instead of one (algo-1: world size 1: 1 host x 1 rank, MPI,"
        " algo-2: world size 1: 1 host x 1 rank, MPI)"),
    ),
    "hosts that are jobs of their own fail": (
        Ending("algo-2", 1, "algo-2 ended with 1"), 0,
        ['launch: failure: {"rank": 0, "host": "algo-2", "reason": "expected world size 4"}'],
        {}, "failed",
        ("2 jobs of world size 1 where one of 4 was expected: algo-2 ended with 1: rank 0 on "
        "algo-2 failed first: expected world size 4"),
    ),
    "a known line explains it": (
        Ending("algo-1", 1, "algo-1 ended with code 1"), 2, ["mpirun noticed that rank 3 went"],
        {}, "failed",
        "algo-1 ended with code 1: rank 3 was killed",
    ),
    "a rank's traceback explains it": (
        Ending("algo-1", 1, "algo-1 ended with code 1"), 2,
        [
            "[1,3]<stderr>:Traceback (most recent call last):",
            '[1,3]<stderr>:  File "train.py", line 1', "[1,3]<stderr>:ValueError: boom",
            "Traceback (most recent call last):", "ExecuteUserScriptError: of the toolkit",
        ],
        {}, "failed",
        "algo-1 ended with code 1: rank 3 on algo-1: ValueError: boom",
    ),
    "where a host was killed the rest is a consequence": (
        Ending("algo-2", 137, "algo-2 ended with code 137 (SIGKILL)"), 2,
        ["mpirun noticed that rank 3 went"], {}, "failed",
        "algo-2 ended with code 137 (SIGKILL)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_end_is_judged_with_its_reason(case: str) -> None:
    ending, ranks, lines, proofs, state, reason = CASES[case]
    found = judged(AttemptEnd(ENDED, ending), seen(lines, proofs), FOUR, hosts(ranks), None)
    assert (found.state, found.reason) == (state, reason)


def test_a_time_limit_is_named() -> None:
    found = judged(AttemptEnd(TIMED_OUT), seen([], {}), FOUR, hosts(), 3600)
    told = "the document's time limit of 3600 s was reached"
    assert (found.state, found.reason) == ("timed out", told)


def test_an_engine_that_went_away_is_named() -> None:
    end = AttemptEnd(ENGINE_LOST, error="ConnectionError")
    found = judged(end, seen([], {}), FOUR, hosts(), None)
    assert (found.state, found.reason) == ("lost", "the Docker engine went away (ConnectionError)")


def test_a_success_says_what_it_rests_on() -> None:
    found = judged(AttemptEnd(ENDED, GOOD), seen([], {"algo-1": PROOF}), FOUR, hosts(), None)
    assert found.proof == f"{PROOF}; evidence missing ({UNSTAMPED})"
    init = replace(FOUR, mode="init", nonce="0" * 32)
    stamped = seen([], {"algo-1": PROOF})
    assert judged(AttemptEnd(ENDED, GOOD), stamped, init, hosts(), None).proof == PROOF


ALONE = "world size 1: 1 host x 1 rank, MPI"


@pytest.mark.parametrize(
    ("world_size", "proofs", "state", "reason"),
    [
        (1, ["algo-1"], "not proven", "completed, but as 2 copies of one job"),
        (1, ["algo-1", "algo-2"], "not proven", "completed, but as 2 jobs instead of one"),
        (2, ["algo-1"], "not proven", "completed, but it proved another job"),
    ],
)
def test_two_copies_are_told_as_two_copies(
    world_size: int,
    proofs: list[str],
    state: str,
    reason: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    expected = Expected(world_size, min(world_size, 2), document_world_size=world_size)
    shown = seen([], dict.fromkeys(proofs, ALONE))
    found = judged(AttemptEnd(ENDED, GOOD), shown, expected, hosts(0), None)
    assert (found.state, found.reason[: len(reason)]) == (state, reason)
    copies = copies_of(hosts(0), expected, shown)
    result = RehearsalResult("id", "job", state, found.reason, "", expected, copies=copies)
    say_result(result, Screen(to_stderr=True))
    told = capsys.readouterr().err
    assert "rehearsed as 2 copies of one job, each of world size 1" in told
    assert "of 1 ranks" not in told


def test_hosts_that_find_each_other_by_themselves_are_one_job() -> None:
    together = seen([], {"algo-1": "world size 2: 2 hosts x 1 rank, Gloo"})
    expected = Expected(2, 2, document_world_size=2)
    assert copies_of(hosts(0), expected, together) == 0
    assert copies_of(hosts(1), expected, seen([], {})) == 0
    assert copies_of(hosts(0), expected, seen([], {})) == 0, "nobody said anything"
    failed = "expected world size 2, found world size 1 (given by nobody)"
    line = f'launch: failure: {{"rank": 0, "host": "algo-2", "reason": "{failed}"}}'
    assert copies_of(hosts(0), expected, seen([line], {})) == 2
