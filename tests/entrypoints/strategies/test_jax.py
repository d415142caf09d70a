"""Strategy jax: what is made of what compiled programs say, and real processes of JAX."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from launch_runtime import strategies
from launch_runtime.evidence.records import EXCHANGE, INIT, STRICT
from launch_runtime.strategies.jax import STRATEGY

from tests.entrypoints.simulated import SimulatedJob
from tests.entrypoints.strategies.jax_scripts import ALONE, PACKAGES, START, TRAIN
from tests.sagemaker.released import installed

MakeJob = Callable[..., SimulatedJob]


def record(*other: Any, final: bool = True) -> list[dict[str, Any]]:
    return [
        {
            "pid": 1, "final": final, "joined": False, "called_after": 0, "sets": [],
            "other": [list(entry) for entry in other],
        }
    ]  # fmt: skip


REDUCED = "values reduced between all ranks by compiled programs"
NOTHING = "no compiled program was seen that reduces values between all ranks"
ALL_OF_THEM = record(("all", 1000))
# records by rank; mode; the proof's words, and whether the job has failed
JUDGED: dict[str, tuple[dict[int, Any], str, str, bool]] = {
    "all ranks": (dict.fromkeys(range(4), ALL_OF_THEM), EXCHANGE, REDUCED, False),
    "groups that connect": (
        {0: record(([0, 1], 9)), 1: record(([1, 2], 9)), 2: record(([2, 3], 9)), 3: record()},
        EXCHANGE, REDUCED, False,
    ),
    "groups that are apart": (
        {0: record(([0, 1], 9)), 1: record(), 2: record(([2, 3], 9)), 3: record()},
        EXCHANGE, NOTHING, False,
    ),
    "nothing": (dict.fromkeys(range(4), record()), EXCHANGE, NOTHING, False),
    "no records": ({}, EXCHANGE, NOTHING, False),
    "nothing, and every rank's evidence is asked for": ({}, STRICT, NOTHING, True),
    "one rank's, and every rank's is asked for": (
        {0: ALL_OF_THEM, 1: record(), 2: record(), 3: record()}, STRICT, NOTHING, True,
    ),
    "nothing is asked for": (dict.fromkeys(range(4), ALL_OF_THEM), INIT, "", False),
}  # fmt: skip


@pytest.mark.parametrize("what", JUDGED)
def test_what_is_not_seen_is_said_and_fails_where_evidence_was_asked_for(what: str) -> None:
    records, mode, words, fails = JUDGED[what]
    found = STRATEGY.judge(records, 4, 4, mode)
    assert (found.words, bool(found.failure)) == (words, fails)


def test_the_strategy_is_one_of_all() -> None:
    assert strategies.of({"LAUNCH_STRATEGY": "jax"}) is STRATEGY


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("UNAVAILABLE: Gloo all-reduce failed: Connection closed by peer", True),
        ("The tasks have crashed; the coordination service shuts down", True),
        ("boom", False),
    ],
)
def test_the_loss_of_a_peer_is_no_cause(text: str, expected: bool) -> None:
    assert STRATEGY.is_consequence(RuntimeError(text)) is expected


# -- real processes ------------------------------------------------------------------------------


@pytest.fixture
def jax_job(make_job: MakeJob) -> MakeJob:
    if sys.version_info < (3, 11):
        pytest.skip("jax 0.10 needs Python 3.11")
    packages = installed(*PACKAGES)

    def make(script: str, **how: Any) -> SimulatedJob:
        environment = {
            "PYTHONPATH": str(packages),
            "LAUNCH_STRATEGY": "jax",
            "JAX_PLATFORMS": "cpu",
        }
        job = make_job(**{"hosts": 2, **environment, **how})
        job.script(script)
        return job

    return make


@pytest.mark.pip_network
class TestRealProcesses:
    def test_a_step_over_all_processes_is_proven_by_its_compiled_program(
        self, jax_job: MakeJob
    ) -> None:
        job = jax_job(TRAIN, LAUNCH_PROOF=STRICT)
        assert job.run() == [0, 0], job.text()
        proof = "launch: proof: world size 2: 2 hosts x 1 rank, Gloo"
        assert job.said("proof") == [f"[host-1/0] {proof}", f"[host-1/0] {proof}; {REDUCED}"]
        first, second = sorted(job.said("trained"))
        assert first.partition(" to ")[2] == second.partition(" to ")[2]
        assert "trained 0 of 2" in first

    def test_processes_that_compute_alone_have_that_said_in_their_proof(
        self, jax_job: MakeJob
    ) -> None:
        job = jax_job(START + ALONE, hosts=1, processes=2)
        assert job.run() == [0], job.text()
        assert job.said("proof")[-1].endswith(f"1 host x 2 ranks, Gloo; {NOTHING}")

    def test_a_script_that_never_initialises_is_copies(self, jax_job: MakeJob) -> None:
        job = jax_job("import jax\nimport jax.numpy as jnp\n" + ALONE)
        assert job.run() == [1, 1], job.text()
        assert "without ever having called jax.distributed.initialize()" in job.failure()["reason"]
        assert job.said("fix: call `jax.distributed.initialize")

    def test_a_script_that_counts_its_processes_itself_is_refused_before_it_waits(
        self, jax_job: MakeJob
    ) -> None:
        call = "initialize('127.0.0.1:1', num_processes=1, process_id=0)"
        job = jax_job(START.replace("initialize()", call) + ALONE)
        assert job.run() == [1, 1], job.text()
        assert "num_processes=1" in job.failure()["reason"]
        assert not job.said("doubled")

    def test_a_process_that_dies_is_named_and_not_the_one_that_misses_it(
        self, jax_job: MakeJob
    ) -> None:
        job = jax_job(
            TRAIN
            + """
for count in range(100_000):
    if rank == 1 and count == 20:
        os._exit(7)
    weights = step(weights, batch)
    weights.block_until_ready()
"""
        )
        assert job.run() == [7, 7], job.text()
        assert (job.failure()["rank"], job.failure()["exit_code"]) == (1, 7)
        assert job.failure()["phase"] == "training"
