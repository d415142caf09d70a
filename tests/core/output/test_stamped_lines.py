"""Lines of a job whose stamp is known: forged, replayed, of another size, of other ranks."""

from __future__ import annotations

import json

import pytest

from launchers.core.model.jobs import LogLine
from launchers.core.output.lines import JobWatch, proof_of, shown
from launchers.core.proof import Expected
from tests.core.output.evidences import NONCE, lines_of, record
from tests.fakes.stamps import stamp_of, stamped

STAMP, OTHER = stamp_of(NONCE), stamp_of("f" * 32)
TEXT = "world size 2: 2 hosts x 1 rank, MPI"
PROOF = f"launch: proof: {TEXT} [{STAMP}]"
KNOWN = Expected(2, 2, nonce=NONCE)
UNKNOWN = Expected(2, 2)


def line(text: str, rank: int | None = 0) -> LogLine:
    return LogLine(0.0, "algo-1", rank, text)


def seen(*lines: LogLine, expected: Expected = KNOWN) -> JobWatch:
    watch = expected.watch()
    for one in lines:
        watch.see(one)
    return watch


FORGED = {
    "printed by a script": line(f"launch: proof: {TEXT}"),
    "replayed from another log": line(f"launch: proof: {TEXT} [{OTHER}]"),
    "of a rank that prints none": line(PROOF, rank=1),
    "another text as controller": line("launch: proof: world size 2: 2 hosts x 1 rank, good job"),
    "of another size": line("launch: proof: world size 4: 2 hosts x 2 ranks, MPI"),
    "another size from another log": line(
        f"launch: proof: world size 4: 2 hosts x 2 ranks, MPI [{OTHER}]"
    ),
    "with an escape sequence": line(f"launch: proof: {TEXT}\x1b[2J [{STAMP}]"),
    "with a stamp inside": line(f"launch: proof: {TEXT} [{STAMP}] and more"),
    "in another line": line(f"they said {PROOF}"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_proof_changes_nothing(name: str):
    assert seen(FORGED[name]).proof == ""
    assert seen(FORGED[name], line(PROOF)).proof == TEXT
    assert seen(line(PROOF), FORGED[name]).proof == TEXT


def test_forged_proofs_are_counted_for_whoever_wonders():
    forged = [FORGED["printed by a script"], FORGED["replayed from another log"]]
    assert seen(*forged, line(PROOF)).foreign == 2


def test_the_last_proof_of_the_job_counts():
    complete = f"{TEXT}; gradients exchanged, weights equal"
    last = line(f"launch: proof: {complete} [{STAMP}]")
    assert seen(line(PROOF), last).proof == complete


def test_where_tags_are_missing_the_stamp_is_enough():
    assert seen(line(PROOF, rank=None)).proof == TEXT
    assert seen(line(PROOF + "\r")).proof == TEXT


def test_without_a_nonce_lines_are_taken_at_their_word():
    for one in (line(f"launch: proof: {TEXT}"), line(PROOF), line(f"launch: proof: {TEXT}", 1)):
        assert seen(one, expected=UNKNOWN).proof == TEXT


def failure(**fields: object) -> LogLine:
    return line(f"launch: failure: {json.dumps(fields)}", 7)


def test_a_failure_that_a_script_prints_changes_nothing():
    printed = failure(rank=7, host="host-9", reason="\x1b[31mboom")
    replayed = failure(rank=7, host="host-9", reason="boom", stamp=OTHER)
    assert seen(printed, replayed).failure is None
    true = failure(rank=1, host="algo-2", reason="KeyError", stamp=STAMP)
    told = {"rank": 1, "host": "algo-2", "reason": "KeyError"}
    assert seen(printed, true, replayed).failure == told
    assert seen(printed, expected=UNKNOWN).failure is not None


def test_the_lines_of_evidence_are_joined_and_the_newest_whole_ones_count():
    first, last = record(final=False), record()
    lines = [
        *lines_of([first], 0, STAMP, serial=1),
        *lines_of([last], 0, STAMP, serial=2),
        *lines_of([first], 1, STAMP, serial=1),
    ]
    assert seen(*lines).evidence() == {0: [last], 1: [first]}


def long_record() -> dict[str, object]:
    """One whose evidence takes several lines."""
    import random

    names = random.Random(7)
    return {**record(), "note": [names.random() for _ in range(2000)]}


def test_evidence_with_a_missing_part_does_not_count_and_an_older_whole_one_does():
    whole, newer = lines_of([record()], 0, STAMP, 1), lines_of([long_record()], 0, STAMP, 2)
    assert len(newer) > 2
    for index in range(len(newer)):
        lines = [*whole, *newer[:index], *newer[index + 1 :]]
        assert seen(*lines).evidence() == {0: [record()]}
    assert seen(*whole, *newer[::-1]).evidence() == {0: [long_record()]}


@pytest.mark.parametrize("stamp", ["", OTHER])
def test_evidence_with_another_stamp_does_not_count(stamp: str):
    assert seen(*lines_of([record()], 0, stamp)).evidence() == {}


def test_evidence_of_a_rank_that_the_job_has_not_does_not_count():
    assert seen(*lines_of([record()], 2, STAMP)).evidence() == {}


def test_evidence_of_a_job_without_a_nonce_carries_no_stamp():
    lines = lines_of([record()], 1, "")
    assert seen(*lines, expected=UNKNOWN).evidence() == {1: [record()]}


@pytest.mark.parametrize("text", ["launch: evidence: {", "launch: evidence: [1]"])
def test_evidence_that_is_broken_is_left_out(text: str):
    assert seen(line(text)).evidence() == {}


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        (PROOF, f"launch: proof: {TEXT}"),
        (f"launch: proof: {TEXT}; equal [{OTHER}]", f"launch: proof: {TEXT}; equal"),
        (f"launch: proof: {TEXT}", f"launch: proof: {TEXT}"),
        (
            f'launch: failure: {{"rank": 1, "stamp": "{STAMP}", "reason": "x, }}"}}',
            "launch: the job ends because of rank 1: x, }",
        ),
        (f"my own [{STAMP}]", f"my own [{STAMP}]"),
        ("launch: evidence: {}", None),
    ],
)  # fmt: skip
def test_what_a_person_sees_of_a_line(text: str, visible: str | None):
    told = shown(line(text), without_gpus=False)
    assert (told.text if told else None) == visible


def test_the_tail_of_a_rank_has_no_stamp_and_no_evidence():
    watch = seen(line("epoch 1"), line(PROOF), *lines_of([record()], 0, STAMP))
    assert watch.tail(0) == ["epoch 1", f"launch: proof: {TEXT}"]


def test_the_fake_stamps_as_the_guard_does():
    assert stamped(f"[1,0]<stdout>:launch: proof: {TEXT}", NONCE).endswith(f"MPI [{STAMP}]")
    assert proof_of(line(stamped(f"launch: proof: {TEXT}", NONCE)), STAMP) == TEXT
    told = stamped('[1,5]<stderr>:launch: failure: {"rank": 5}', NONCE)
    assert json.loads(told.partition("failure: ")[2]) == {"rank": 5, "stamp": STAMP}
    assert stamped("epoch 1", NONCE) == "epoch 1"
    assert stamped(f"launch: proof: {TEXT}", "") == f"launch: proof: {TEXT}"
