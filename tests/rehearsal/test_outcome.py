"""State and reason of a rehearsal's end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from launchers.core.containers import Cause
from launchers.core.logs import JobWatch
from launchers.core.mpi_output import untangled
from launchers.rehearsal.act import ENDED, ENGINE_LOST, TIMED_OUT, ActEnd, Seen
from launchers.rehearsal.causes import Causes
from launchers.rehearsal.outcome import Expected, judged
from launchers.rehearsal.verdict import Ending
from tests.rehearsal.boxes import box

GOOD = Ending("algo-1", 0)
FOUR = Expected(4, 8, 2)
KNOWN = (Cause(r"noticed that rank (\d+) went", "rank {0} was killed"),)


def hosts(ranks: int = 2) -> list[Any]:
    """Two hosts; with ``ranks`` 0 each is a job of its own."""
    return [
        box(number, "", ranks=tuple(range((number - 1) * ranks, number * ranks)))
        for number in (1, 2)
    ]


def seen(lines: Sequence[str], proofs: dict[str, str]) -> Seen:
    """What an act showed that printed ``lines`` on algo-1."""
    found = Seen(JobWatch(), Causes(KNOWN), dict(proofs))
    for text in lines:
        for line in untangled(text, 0.0, "algo-1"):
            found.watch.see(line)
            found.causes.see(line)
    return found


PROOF = "world size 4: 2 hosts x 2 ranks, MPI"


@pytest.mark.parametrize(
    ("name", "ending", "ranks", "lines", "proofs", "state", "reason"),
    [
        ("proven", GOOD, 2, [], {"algo-1": PROOF}, "succeeded", ""),
        (
            "no proof",
            GOOD,
            2,
            [],
            {},
            "not proven",
            (
                "completed but not proven: no rank has shown that Horovod made one job of them (no "
                "proof line)"
            ),
        ),
        (
            "a proof of another size",
            GOOD,
            2,
            [],
            {"algo-1": "world size 2: 1 host x 2 ranks, MPI"},
            "not proven",
            (
                "completed but not proven: world size 2: 1 host x 2 ranks, MPI; expected world "
                "size 4 on 2 hosts"
            ),
        ),
        (
            "the right size on one host",
            GOOD,
            2,
            [],
            {"algo-1": "world size 4: 1 host x 4 ranks, MPI"},
            "not proven",
            (
                "completed but not proven: world size 4: 1 host x 4 ranks, MPI; expected world "
                "size 4 on 2 hosts"
            ),
        ),
        (
            "each host proved a job of its own",
            GOOD,
            0,
            [],
            {
                "algo-1": "world size 1: 1 host x 1 rank, MPI",
                "algo-2": "world size 1: 1 host x 1 rank, MPI",
            },
            "not proven",
            (
                "completed but not proven: 2 jobs instead of one (algo-1: world size 1: 1 host x 1 "
                "rank, MPI, algo-2: world size 1: 1 host x 1 rank, MPI)"
            ),
        ),
        (
            "hosts that are jobs of their own fail",
            Ending("algo-2", 1, "algo-2 ended with 1"),
            0,
            ['launch: failure: {"rank": 0, "host": "algo-2", "reason": "expected world size 4"}'],
            {},
            "failed",
            (
                "2 jobs of world size 1 where one of 4 was expected: algo-2 ended with 1: rank 0 "
                "on algo-2: expected world size 4"
            ),
        ),
        (
            "a known line explains it",
            Ending("algo-1", 1, "algo-1 ended with code 1"),
            2,
            ["mpirun noticed that rank 3 went"],
            {},
            "failed",
            "algo-1 ended with code 1: rank 3 was killed",
        ),
        (
            "a rank's traceback explains it",
            Ending("algo-1", 1, "algo-1 ended with code 1"),
            2,
            [
                "[1,3]<stderr>:Traceback (most recent call last):",
                '[1,3]<stderr>:  File "train.py", line 1',
                "[1,3]<stderr>:ValueError: boom",
                "Traceback (most recent call last):",
                "ExecuteUserScriptError: of the toolkit",
            ],
            {},
            "failed",
            "algo-1 ended with code 1: rank 3 on algo-1: ValueError: boom",
        ),
        (
            "where a host was killed the rest is a consequence",
            Ending("algo-2", 137, "algo-2 ended with code 137 (SIGKILL)"),
            2,
            ["mpirun noticed that rank 3 went"],
            {},
            "failed",
            "algo-2 ended with code 137 (SIGKILL)",
        ),
    ],
)
def test_judged(
    name: str,
    ending: Ending,
    ranks: int,
    lines: list[str],
    proofs: dict[str, str],
    state: str,
    reason: str,
) -> None:
    end = ActEnd(ENDED, ending)
    assert judged(end, seen(lines, proofs), FOUR, hosts(ranks), None) == (state, reason), name


def test_a_time_limit_is_named() -> None:
    state, reason = judged(ActEnd(TIMED_OUT), seen([], {}), FOUR, hosts(), 3600)
    assert (state, reason) == ("timed out", "the document's time limit of 3600 s was reached")


def test_an_engine_that_went_away_is_named() -> None:
    state, reason = judged(
        ActEnd(ENGINE_LOST, error="ConnectionError"), seen([], {}), FOUR, hosts(), None
    )
    assert (state, reason) == ("lost", "the Docker engine went away (ConnectionError)")
