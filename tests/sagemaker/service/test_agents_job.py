"""A job whose ranks our agent starts, from the command line to its verdict: sent through the
unmodified client to the service on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from launchers.core.records import nonce
from launchers.sagemaker.document import starts_agent
from tests.cli.command import Launch
from tests.fakes.job_scenarios import Scenario
from tests.fakes.stamps import nonce_of
from tests.sagemaker.rules.test_agent_start import DDP
from tests.sagemaker.service.submitting import Bench, bench

PROVEN = "world size 8: 2 hosts x 4 ranks, NCCL; gradients exchanged, weights equal"
LINES = {
    "algo-1": [f"[algo-1/0] launch: proof: {PROVEN}", "[algo-1/agent] launch: all is well"],
    "algo-2": ["[algo-2/4] epoch 1"],
}


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    for made in bench(launch):
        launch.write("train.py", DDP)
        made.aws.jobs.scenario = Scenario(lines=LINES)
        yield made


def test_it_is_sent_as_printed_followed_over_its_hosts_and_proven(tried: Bench) -> None:
    words = ("--spot", "--max-wait", "30h", "--metric", "loss=loss: (.*)")
    printed = tried.submit("--dry-run", *words)
    assert printed.code == 0, printed.err
    answer = tried.submit(*words)
    assert answer.code == 0, answer.err
    (sent,) = tried.aws.received("CreateTrainingJob")
    assert nonce.filled_text(printed.out, nonce_of(json.loads(sent.body))).encode() == sent.body
    assert starts_agent(json.loads(sent.body))
    assert f"[algo-1/0] launch: proof: {PROVEN}" in answer.out.splitlines()
    assert "[algo-2/4] epoch 1" in answer.out.splitlines()
    assert f": {PROVEN}" in answer.err


def test_the_same_command_shows_it_and_again_takes_the_next_run(tried: Bench) -> None:
    assert tried.submit("--keep-alive", "30m").code == 0
    shown = tried.submit("--keep-alive", "30m")
    assert (shown.code, "--again" in shown.err) == (0, True)
    assert tried.submit("--keep-alive", "30m", "--again").code == 0
    first, second = tried.aws.jobs
    assert (first.name[-2:], second.name[-2:]) == ("-1", "-2")
    assert second.document["ResourceConfig"]["KeepAlivePeriodInSeconds"] == 1800


def test_ranks_that_trained_apart_are_no_success(tried: Bench) -> None:
    tried.aws.jobs.scenario = Scenario(lines={"algo-1": ["[algo-1/0] epoch 1"]})
    answer = tried.submit()
    assert answer.code == 1
    assert "not proven" in answer.err


def test_the_words_of_the_first_failure_are_the_reason(tried: Bench) -> None:
    failure = {
        "rank": 5, "host": "algo-2", "exit_code": 1, "signal": None, "phase": "training",
        "reason": "ValueError: no such column: price",
    }  # fmt: skip
    lines = {
        "algo-1": [f"[algo-1/agent] launch: failure: {json.dumps(failure)}"],
        "algo-2": ["[algo-2/5] ValueError: no such column: price"],
    }
    reason = "AlgorithmError: the job ends because of rank 5 on algo-2: ValueError, exit code: 1"
    tried.aws.jobs.scenario = Scenario(lines=lines, outcome="Failed", reason=reason)
    answer = tried.submit()
    assert answer.code == 1
    assert "rank 5 on algo-2" in answer.err
    assert "no such column: price" in answer.err
