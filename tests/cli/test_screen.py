"""The story of a job whose hosts print much: real logs of AWS's toolkit (sagemaker-training 5.1.4)
and Open MPI 4.1.4, as a rehearsal has written them down."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from launchers.cli.show.screen import Screen
from launchers.core.model.jobs import LogLine
from launchers.core.output.lines import JobWatch
from launchers.sagemaker.launcher import SageMakerContract

CAPTURED = Path(__file__).with_name("captured")
_LINE = re.compile(r"(\d+\.\d+) \[([\w-]+)/(\d+|-)\] (.*)")


def lines_of(name: str) -> list[LogLine]:
    found = []
    for text in (CAPTURED / f"sagemaker-{name}.log").read_text().splitlines():
        match = _LINE.fullmatch(text)
        assert match, text
        rank = None if match[3] == "-" else int(match[3])
        found.append(LogLine(float(match[1]), match[2], rank, match[4]))
    return found


def told(
    lines: list[LogLine], capsys: pytest.CaptureFixture[str], **settings: bool
) -> tuple[list[str], Screen, JobWatch]:
    """What a screen prints of ``lines``."""
    screen = Screen(contract=SageMakerContract(), **settings)
    watch = JobWatch(without_gpus=True)
    for line in lines:
        watch.see(line)
        screen.show(line, watch)
    screen.end(watch)
    return capsys.readouterr().out.splitlines(), screen, watch


def test_a_good_jobs_story_is_its_stages_and_what_its_ranks_said(
    capsys: pytest.CaptureFixture[str],
):
    lines = lines_of("trivial")
    out, screen, _ = told(lines, capsys)
    assert out == [
        "[algo-2] AWS's toolkit starts on every host",
        "[algo-1] every host is reached by ssh",
        "[algo-1] mpirun --host algo-1:2,algo-2:2 -np 4 ...",
        "[algo-1] mpirun starts the ranks",
        "[algo-1/0] launch: proof: world size 4: 2 hosts x 2 ranks, MPI",
        "[algo-1/0] rank 0 of 4",
        "[algo-2/2] rank 2 of 4",
        "[algo-1/1] rank 1 of 4",
        "[algo-2/3] rank 3 of 4",
        "[algo-1/0] sum 4.0",
        "[algo-1/1] sum 4.0",
        "[algo-2/3] sum 4.0",
        "[algo-2/2] sum 4.0",
        "[algo-1] mpirun has ended; the toolkit sleeps 30 s now, as on the service",
        "[algo-2] the toolkit reports success",
    ]
    assert screen.left_out > len(lines) * 0.9
    assert screen.whose == "AWS's toolkit, mpirun and frameworks"


def test_a_failing_jobs_story_has_one_traceback_that_of_the_first_failing_rank(
    capsys: pytest.CaptureFixture[str],
):
    out, screen, watch = told(lines_of("oneraise"), capsys)
    text = "\n".join(out)
    assert text.count("Traceback (most recent call last)") == 1
    assert text.count("no labels in shard") == 2, "its source line and its last one"
    assert "launch: failure" not in text
    assert "Horovod has been shut down" not in text
    assert "mpirun detected" not in text
    assert screen.has_shown_traceback(1)
    assert watch.tail(1)[-1] == "ValueError: no labels in shard 1"


def test_without_a_verdict_behind_them_a_jobs_lines_tell_the_failure_once_in_words(
    capsys: pytest.CaptureFixture[str],
):
    lines = lines_of("oneraise")
    second = LogLine(0.0, "algo-2", None, "launch: the job ends because of rank 1 on algo-1: x")
    out, _, _ = told([*lines, second], capsys, verdict_follows=False)
    reason = "the job ends because of rank 1 on algo-1: ValueError: no labels in shard 1"
    assert [text for text in out if "ends because" in text] == [f"[algo-1/1] launch: {reason}"]


def test_what_a_guard_refuses_is_left_to_the_verdict_and_what_to_do_is_shown(
    capsys: pytest.CaptureFixture[str],
):
    texts = ["no init", "launch: expected a, found b", "launch: likely cause: c", "launch: fix: d"]
    lines = [LogLine(0.0, "h", 0, text) for text in texts]
    out, _, watch = told(lines, capsys)
    assert out == ["[h/0] no init", "[h/0] launch: fix: d"]
    assert watch.tail(0) == ["no init", "launch: fix: d"]
    out, _, _ = told(lines, capsys, verdict_follows=False)
    assert out == [f"[h/0] {text}" for text in texts]


def test_verbose_leaves_out_nothing_but_what_only_programs_read(
    capsys: pytest.CaptureFixture[str],
):
    lines = lines_of("oneraise")
    out, screen, _ = told(lines, capsys, verbose=True)
    text = "\n".join(out)
    assert screen.left_out == 0
    assert "Training Env:" in text
    assert text.count("Traceback (most recent call last)") == 4
    assert "launch: failure" not in text
    assert "launch: evidence" not in text


def test_a_line_that_is_not_known_is_shown(capsys: pytest.CaptureFixture[str]):
    unknown = [
        "2026-11-23 06:29:23,407 sagemaker-training-toolkit WARNING  something is odd",
        "Training Env: of mine",
        "2026-11-23 06:29:23,407 my-own-logger INFO     hello",
        "SM_HOSTS=mine",
        'ErrorMessage "CUDA out of memory"',
    ]
    out, screen, _ = told([LogLine(0.0, "algo-1", None, text) for text in unknown], capsys)
    assert out == [f"[algo-1] {text}" for text in unknown]
    assert screen.left_out == 0


def test_an_empty_line_of_a_rank_is_shown_where_it_is_the_scripts_own(
    capsys: pytest.CaptureFixture[str],
):
    texts = ["a", "", "b", "", "launch: proof: world size 1: 1 host x 1 rank, MPI", ""]
    out, _, _ = told([LogLine(0.0, "h", 0, text) for text in texts], capsys)
    assert out == ["[h/0] a", "[h/0] ", "[h/0] b", f"[h/0] {texts[4]}"]


def test_every_pattern_of_the_table_is_one_that_compiles_and_every_stage_fills_in():
    table = json.loads(Path("launchers/sagemaker/chatter.json").read_bytes())
    for pattern, text in table["stages"].items():
        groups = re.compile(pattern).groups
        assert text.format(*["x"] * groups)
    for pattern in table["lines"]:
        assert not re.compile(pattern).fullmatch("rank 3: loss 0.1")
