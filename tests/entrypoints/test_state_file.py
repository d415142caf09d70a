"""What the processes of a rank leave in its state file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from launch_runtime import state_file
from launch_runtime.evidence.lines import LINE, encode
from launch_runtime.host.rank_evidence import RankEvidence

LIMIT = 1 << 20


def found(pid: int, size: int = 10, **more: Any) -> dict[str, Any]:
    return {"pid": pid, "final": False, "sets": ["x" * size], **more}


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "state")


def test_the_last_record_of_each_process_counts(path: str) -> None:
    for record in (found(1, step=1), found(2), found(1, step=2), "none", found("x")):  # type: ignore[arg-type]
        state_file.record(path, state_file.EVIDENCE, record=record)
    assert state_file.evidence(path) == [found(2), found(1, step=2)]


def test_lines_that_nobody_of_ours_wrote_hide_nothing(path: str) -> None:
    state_file.record(path, state_file.INITIALISED)
    with open(path, "ab") as file:
        file.write(b'{"event": \n[1]\n"x"\n{}\n\xff\n' + b"[" * 100_000 + b"\n")
    state_file.record(path, state_file.PROVEN, "world size 2")
    state_file.record(path, state_file.REFUSED, "too many")
    assert state_file.holds(path, state_file.INITIALISED)
    assert state_file.proof(path) == "world size 2"
    assert state_file.refusal(path) == "too many"


def test_many_processes_and_large_records_leave_a_bounded_rest(path: str) -> None:
    for pid in range(200):
        state_file.record_evidence(path, found(pid))
    assert [one["pid"] for one in state_file.evidence(path)] == list(range(136, 200))
    state_file.record_evidence(path, found(1000, size=state_file.EVIDENCE_BYTES))
    assert state_file.evidence(path)[-1]["pid"] == 199
    for pid in (300, 301):
        state_file.record_evidence(path, found(pid, size=600_000))
    assert [one["pid"] for one in state_file.evidence(path)] == [301]


def test_a_process_that_says_much_may_still_say_its_last(path: str) -> None:
    for number in range(40):
        state_file.record_evidence(path, found(1, size=500_000, number=number))
    assert os.stat(path).st_size < state_file.READ_LIMIT
    assert state_file.evidence(path)[-1]["number"] < 39
    state_file.record_evidence(path, found(1, final=True, number=40))
    assert state_file.evidence(path)[-1]["number"] == 40


def test_the_guards_record_and_its_childrens_are_kept_and_bounded(path: str) -> None:
    kept = RankEvidence(path)
    for line in [
        "", "nonsense", None, LINE + "[" * 100_000,
        *encode([found(7, size=20_000)], 0, 1), *encode([found(7)], 0, 2),
        *encode([found(8)], 1, 3),
    ]:  # fmt: skip
        kept.feed(line)
    state_file.record_evidence(path, found(9, size=900))
    assert kept.records(LIMIT) == [found(7), found(9, size=900)]
    assert kept.records(500) == [found(7)]
    assert kept.records(5) == []


def test_a_program_in_the_guards_place_has_the_last_word(path: str) -> None:
    kept = RankEvidence(path)
    for line in encode([found(7)], 0, 1):
        kept.feed(line)
    state_file.record_evidence(path, found(7, final=True))
    assert kept.records(LIMIT) == [found(7, final=True)]
