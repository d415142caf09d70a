"""`launch scaling` on a cloud: jobs that are paid for, asked for first and never sent twice."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import Any

import pytest

from tests.submitting import AnyBench

CHOSEN = ("--seed-argument", "seed", "--max-runtime", "1h")
END = "step 5/5, {rate} images/s, loss 0.5, accuracy 0.75, validation accuracy 0.5, {seconds} s"


def words_of(tried: AnyBench, *more: str) -> list[str]:
    """A study of one and two hosts with 4 GPUs each."""
    words = ["scaling", *tried.words(*CHOSEN, *more)]
    words[words.index("--instances") + 1] = "1,2"
    return words


def lines(world_size: int) -> list[str]:
    """What a training says whose ranks share its work."""
    return [
        f"progress: epoch {epoch}/2, "
        + END.format(rate=25 * world_size, seconds=80 * epoch / world_size)
        for epoch in (1, 2)
    ]


def state_of(tried: AnyBench) -> list[dict[str, Any]]:
    """The study's runs as they are kept."""
    (path,) = (tried.launch.home / "studies").glob("*/study.json")
    found: list[dict[str, Any]] = json.loads(path.read_text())["runs"]
    return found


class Studies:
    """Jobs of several sizes beside each other."""

    def test_nothing_is_sent_unless_somebody_agrees_to_machines_and_hours(self, tried: AnyBench):
        answer = tried.ask(*words_of(tried))

        assert answer.code == 2
        assert "[scaling-consent]" in answer.err
        assert "at most 9 machine-hours in all" in answer.err
        assert "cost not known without --price" in answer.err
        assert not tried.service.received(tried.CREATE)

    def test_sizes_are_compared_with_their_speed_up_and_their_cost(self, tried: AnyBench):
        tried.prove_each(lines)
        words = words_of(tried, "--repeat", "2", "--yes", "--price", "2", "--json")
        answer = tried.ask(*words, "--max-parallel", "2")

        assert answer.code == 0, answer.err
        assert "at most 12.00 USD" in answer.err
        one, two = answer.json["rows"]
        assert [one["world_size"], two["world_size"]] == [4, 8]
        assert two["speed_up"] == {"median": 2.0, "low": 2.0, "high": 2.0, "count": 2}
        assert two["efficiency"]["median"] == 1.0
        assert one["cost"]["median"] > 0
        assert len(tried.jobs) == 4
        assert {tried.seed_of(job.document) for job in tried.jobs} == {"1", "2"}

    def test_a_size_that_fails_is_a_row_with_its_reason(self, tried: AnyBench):
        tried.prove_each(lines, failing=8)
        answer = tried.ask(*words_of(tried, "--repeat", "1", "--yes"))

        assert answer.code == 1
        assert "it broke" in answer.err
        row = next(line for line in answer.out.splitlines() if line.startswith("8 "))
        assert "0/1" in row
        assert " - " in row

    @pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
    def test_a_launcher_that_ends_leaves_the_jobs_which_the_same_command_follows(
        self, tried: AnyBench, how: signal.Signals
    ):
        tried.prove_each(lines, hold=True)
        words = words_of(tried, "--repeat", "1", "--yes")
        process = tried.launch.start(*words, **tried.environment())
        _until_running(process, 2)
        process.send_signal(how)
        _, err = process.communicate(timeout=60)
        if how == signal.SIGTERM:
            assert process.returncode == 130
            assert "2 jobs go on" in err
            assert "the same command again" in err
        sent = [job.name for job in tried.jobs]
        assert {run["job"] for run in state_of(tried)} == {*sent}

        for job in list(tried.jobs):
            tried.finish(job.name)
        # Both are sent and agreed to: nobody is asked again.
        words.remove("--yes")
        answer = tried.ask(*words)

        assert answer.code == 0, answer.err
        assert "paid for" not in answer.err
        assert [job.name for job in tried.jobs] == sent
        assert {run["state"] for run in state_of(tried)} == {"succeeded"}

    def test_what_failed_is_sent_again_only_when_asked_for(self, tried: AnyBench):
        tried.prove_each(lines, failing=8)
        words = words_of(tried, "--repeat", "1", "--yes")
        assert tried.ask(*words).code == 1
        tried.prove_each(lines)

        kept = tried.ask(*words)
        count = len(tried.jobs)
        tried_again = tried.ask(*words, "--again")

        assert (kept.code, count, tried_again.code) == (1, 2, 0), tried_again.err
        assert len(tried.jobs) == 3

    @pytest.mark.parametrize(
        ("more", "rule"),
        [
            (("--price", "nothing-large=2"), "scaling-price"),
            (("--price", "2", "--price", "3"), "scaling-price"),
            (("--gpus", "1", "--price", "2"), "flag-twice"),
            (("--compare", "strategy=auto,horovod"), "scaling-twice"),
            (("--output", "here"), "scaling-output"),
        ],
    )
    def test_a_study_that_makes_no_sense_is_refused(
        self, tried: AnyBench, more: tuple[str, ...], rule: str
    ):
        answer = tried.ask(*words_of(tried, *more, "--yes"))

        assert answer.code == 2
        assert f"[{rule}]" in answer.err
        assert not tried.service.received(tried.CREATE)

    def test_a_dry_run_tells_machines_and_hours_without_the_service(self, tried: AnyBench):
        words = words_of(tried, "--dry-run", "--json", "--price", "2")
        answer = tried.launch(*words)

        assert answer.code == 0, answer.err
        assert answer.json["machine_hours_at_most"] == 9
        assert answer.json["cost_at_most"] == 18
        assert {run["machine"] for run in answer.json["runs"]} != {None}


def _until_running(process: subprocess.Popen[str], count: int) -> None:
    """Reads what the launcher says until so many jobs run."""
    assert process.stderr
    stream = process.stderr
    for line in stream:
        count -= "  running" in line
        if not count:
            return
    raise AssertionError("it ended before")
