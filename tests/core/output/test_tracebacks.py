"""Of many tracebacks one is shown: that of the rank that failed first."""

from __future__ import annotations

from typing import Any

from launchers.core.model.jobs import LogLine
from launchers.core.output.lines import parse_tagged, tag
from launchers.core.output.tracebacks import TracebackFolder

TRACEBACK = [
    "Traceback (most recent call last):",
    '  File "train.py", line 3, in <module>',
    "    raise ValueError(rank)",
    "ValueError: bad value on rank {rank}",
]
OTHER = [*TRACEBACK[:3], "KeyError: 'x'"]
LOST_PEER = [*TRACEBACK[:3], "UnknownError: Horovod has been shut down. This was caused by ..."]
FAILURE = {"rank": 1, "host": "host-1", "reason": "KeyError: 'x'"}


def shown(*texts: str, failure: dict[str, Any] | None = None, known: bool = True) -> list[str]:
    """What is shown of ``texts``; the failure is known from the beginning, or only at the end."""
    folder = TracebackFolder()
    during = failure if known else None
    lines: list[LogLine] = []
    for text in texts:
        lines += folder.feed(parse_tagged(text), during)
    lines += folder.flush(failure)
    result = [f"{tag(line)} {line.text}" for line in lines]
    notes = sum(text.endswith(")") and "same traceback" in text for text in result)
    assert len(texts) == len(result) - notes + folder.left_out, "every line is shown or counted"
    return result


def of_rank(rank: int, lines: list[str]) -> list[str]:
    return [f"[host-1/{rank}] {line.format(rank=rank)}" for line in lines]


def test_an_equal_traceback_of_other_ranks_becomes_one_line_at_the_end():
    ranks = [line for rank in (0, 1, 2) for line in of_rank(rank, TRACEBACK)]
    result = shown(*ranks, "[host-1/1] after")
    note = "[host-1/0] (the same traceback from ranks 1, 2)"
    assert result == [*of_rank(0, TRACEBACK), "[host-1/1] after", note]


def test_interleaved_tracebacks_come_out_whole():
    pairs = zip(of_rank(0, TRACEBACK), of_rank(1, OTHER), strict=True)
    result = shown(*[line for pair in pairs for line in pair])
    assert result == of_rank(0, TRACEBACK) + of_rank(1, OTHER)


def test_once_a_failure_is_known_only_the_failing_ranks_traceback_is_shown():
    lines = [*of_rank(0, TRACEBACK), *of_rank(1, OTHER), *of_rank(2, LOST_PEER)]
    assert shown(*lines, "[host-1/2] its last line", failure=FAILURE) == of_rank(1, OTHER)


def test_what_says_that_a_peer_has_ended_waits_for_the_cause():
    aborted = "[host-1/0] Local rendezvous is aborting: UNKNOWN: Horovod has been shut down."
    lines = [aborted, *of_rank(0, LOST_PEER), *of_rank(1, OTHER)]
    assert shown(*lines, failure=FAILURE, known=False) == of_rank(1, OTHER)


def test_where_nothing_else_explains_the_end_a_lost_peer_is_shown_once():
    result = shown(*of_rank(0, LOST_PEER), *of_rank(1, LOST_PEER))
    assert result == of_rank(0, LOST_PEER)


def test_a_failure_that_is_a_lost_peer_itself_leaves_the_lines_that_say_so():
    failure = {"rank": 0, "host": "host-1", "reason": "UnknownError: Horovod has been shut down"}
    result = shown(*of_rank(0, LOST_PEER), failure=failure)
    assert result == of_rank(0, LOST_PEER)


def test_a_rank_that_goes_on_has_survived_what_it_said_of_a_peer():
    reset = "[host-1/0] retrying: Connection reset by peer"
    assert shown(reset, "[host-1/1] x", "[host-1/0] connected") == [
        "[host-1/1] x",
        reset,
        "[host-1/0] connected",
    ]


def test_a_traceback_that_never_ends_is_shown_all_the_same():
    assert shown(*of_rank(0, TRACEBACK[:2])) == of_rank(0, TRACEBACK[:2])


def test_chained_tracebacks_of_another_rank_leave_no_connecting_lines():
    chained = [
        *TRACEBACK,
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        *OTHER,
    ]
    result = shown(*of_rank(0, chained), *of_rank(1, chained))
    assert result == [*of_rank(0, chained), "[host-1/0] (the same traceback from rank 1)"]
