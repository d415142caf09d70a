"""Lines of a job: whose they are, and what they prove."""

from __future__ import annotations

import pytest

from launchers.core.model.jobs import LogLine
from launchers.core.output.lines import JobWatch, parse_tagged, proven, shown, tag


@pytest.mark.parametrize(
    ("text", "host", "rank", "rest"),
    [
        ("[host-2/3] epoch 1", "host-2", 3, "epoch 1"),
        ("[host-1/agent] launch: waiting", "host-1", None, "launch: waiting"),
        ("[1,3]<stdout>:epoch 1", "", 3, "epoch 1"),
        ("[1,3]<stdout>epoch 1", "", 3, "epoch 1"),
        ("[1,mpirank:3,algo-2]<stdout>:epoch 1", "algo-2", 3, "epoch 1"),
        ("[1,mpirank:0,algo-1]<stderr>:  indented", "algo-1", 0, "  indented"),
        ("[host-1/0] ", "host-1", 0, ""),
        ("[WARNING] no tag", "", None, "[WARNING] no tag"),
        ("plain", "", None, "plain"),
    ],
)
def test_a_tag_says_whose_line_it_is(text: str, host: str, rank: int | None, rest: str):
    assert parse_tagged(text) == LogLine(0.0, host, rank, rest)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (LogLine(0, "host-1", 0, ""), "[host-1/0]"),
        (LogLine(0, "", 3, ""), "[?/3]"),
        (LogLine(0, "host-1", None, ""), "[host-1]"),
        (LogLine(0, "", None, ""), ""),
    ],
)
def test_a_line_is_shown_with_its_host_and_rank(line: LogLine, expected: str):
    assert tag(line) == expected


@pytest.mark.parametrize(
    ("proof", "world_size", "holds"),
    [
        ("world size 4: 2 hosts x 2 ranks, Gloo", 4, True),
        ("world size 8: 2 hosts x 4 ranks, MPI", 8, True),
        ("world size 1: 1 host x 1 rank, Horovod not used", 1, True),
        ("world size 8: 2 hosts x 4 replicas, NCCL; gradients exchanged", 8, True),
        ("world size 2: 2 hosts x 1 replica, gRPC", 2, True),
        ("world size 2: 2 hosts x 1 copy, gRPC", 2, False),
        ("world size 4: 2 hosts x 2 ranks, Gloo", 8, False),
        ("world size 8: 2 hosts x 2 ranks, Gloo", 8, False),
        ("world size 8", 8, False),
        ("", 1, False),
    ],
)
def test_a_proof_holds_for_the_world_size_that_it_states_and_computes(
    proof: str, world_size: int, holds: bool
):
    assert proven(proof, world_size) == holds


def seen(*texts: str) -> JobWatch:
    watch = JobWatch()
    for text in texts:
        watch.see(parse_tagged(text))
    return watch


def test_the_last_proof_of_the_expected_size_is_the_proof():
    lines = (
        "[host-1/0] launch: proof: world size 9: 9 hosts x 1 rank, Gloo",
        "[host-1/0] launch: proof: world size 2: 2 hosts x 1 rank, Gloo",
        "[host-1/0] launch: proof: world size 2: 2 hosts x 1 rank, Gloo; no training seen",
        "[host-1/0] launch: proof: world size 9: 9 hosts x 1 rank, Gloo",
    )
    watch = JobWatch(world_size=2)
    for text in lines:
        watch.see(parse_tagged(text))
    assert watch.proof == "world size 2: 2 hosts x 1 rank, Gloo; no training seen"
    assert seen(*lines).proof == "world size 9: 9 hosts x 1 rank, Gloo"


def test_text_that_only_mentions_the_proof_is_none():
    assert seen('[host-1/0] print("launch: proof: world size 2: 2 hosts x 1 rank, X")').proof == ""


def test_an_agents_verdict_says_more_than_a_guards_and_the_first_one_stays():
    watch = seen(
        '[host-1/1] launch: failure: {"reason": "no init"}',
        '[host-1/agent] launch: failure: {"rank": 1, "host": "host-1", "exit_code": 1}',
        '[host-2/agent] launch: failure: {"rank": 3, "host": "host-2", "exit_code": 7}',
        "[host-2/agent] launch: failure: {not json}",
    )
    assert watch.failure is not None
    assert (watch.failure["rank"], watch.failure["exit_code"]) == (1, 1)


def test_progress_and_result_are_read():
    watch = seen(
        "[host-1/0] progress: epoch 2/4, step 5/10, 5,120 images/s, loss 0.4123",
        "[host-1/0] result: test accuracy 0.9722, 3 epochs, 5120 images/s, world size 2",
    )
    assert watch.progress is not None
    assert watch.progress.fraction == pytest.approx(15 / 40)
    assert watch.progress.rate == 5120
    assert watch.result == "test accuracy 0.9722, 3 epochs, 5120 images/s, world size 2"


def test_the_tail_of_a_rank_is_its_last_twenty_lines():
    watch = seen(*[f"[host-1/0] {number}" for number in range(50)], "[host-1/1] other")
    assert watch.tail(0) == [str(number) for number in range(30, 50)]


def test_the_last_words_of_a_rank_are_its_traceback_and_not_what_only_programs_read():
    watch = seen(
        *[f"[host-1/0] {number}" for number in range(30)],
        "[host-1/0] Traceback (most recent call last):",
        '[host-1/0]   File "train.py", line 3, in <module>',
        "[host-1/0] ValueError: no labels",
        "[host-1/0] ",
        "[host-1/0] The above exception was the direct cause of the following exception:",
        "[host-1/0] ",
        "[host-1/0] Traceback (most recent call last):",
        '[host-1/0]   File "train.py", line 5, in <module>',
        "[host-1/0] KeyError: 'x'",
        '[host-1/0] launch: failure: {"rank": 0, "host": "host-1", "reason": "KeyError"}',
        "[host-1/0] a thread's last line",
    )
    words = watch.tail(0)
    assert words[0] == "Traceback (most recent call last):"
    assert words[2:4] == [
        "ValueError: no labels",
        "The above exception was the direct cause of the following exception:",
    ]
    assert words[-1] == "KeyError: 'x'"


def test_a_failure_is_shown_in_words():
    failure = '[host-1/agent] launch: failure: {"rank": 1, "host": "host-2", "reason": "boom"}'
    line = shown(parse_tagged(failure), without_gpus=False)
    assert line is not None
    assert line.text == "launch: the job ends because of rank 1 on host-2: boom"
