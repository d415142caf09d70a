"""Strategy jax: what a compiled program says, what is made of it, and real processes of JAX."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from launch_runtime import strategies
from launch_runtime.evidence.records import EXCHANGE, INIT, STRICT
from launch_runtime.strategies.jax import STRATEGY, reductions

from tests.entrypoints.simulated import SimulatedJob
from tests.entrypoints.strategies.jax_scripts import ALONE, PACKAGES, START, TRAIN
from tests.sagemaker.released import installed

MakeJob = Callable[..., SimulatedJob]

# Lines of compiled programs: jax 0.10.2 on two processes, and forms of other versions of XLA.
PROGRAMS: dict[str, tuple[str, int, list[tuple[int, list[list[int]]]]]] = {
    "an all-reduce over a mesh": (
        (
            "  %all-reduce = f32[10,100]{1,0} all-reduce(%dot.1), channel_id=1, "
            "replica_groups=mesh['axis_0'=2,'axis_1'=1] {'axis_0'}, use_global_device_ids=true, "
            'to_apply=%add.clone, metadata={op_name="jit(step)/transpose(jvp())/dot_general"}'
        ),
        2,
        [(1000, [[0, 1]])],
    ),
    "over the second axis of a mesh": (
        "  %r = f32[8]{0} all-reduce(%x), replica_groups=mesh['a'=2,'b'=2] {'b'}, to_apply=%add",
        4,
        [(8, [[0, 1], [2, 3]])],
    ),
    "over the first axis of a mesh": (
        "  %r = f32[8]{0} all-reduce(%x), replica_groups=mesh['a'=2,'b'=2] {'a'}, to_apply=%add",
        4,
        [(8, [[0, 2], [1, 3]])],
    ),
    "several values, listed groups": (
        (
            "  %r = (f32[2,3]{1,0}, bf16[]) all-reduce-start(f32[2,3]{1,0} %a, bf16[] %b), "
            "channel_id=1, replica_groups={{0,2},{1,3}}, to_apply=%add"
        ),
        4,
        [(7, [[0, 2], [1, 3]])],
    ),
    "all devices": (
        "  ROOT %r = f32[4]{0} reduce-scatter(%a), replica_groups={}, dimensions={0}",
        3,
        [(4, [[0, 1, 2]])],
    ),
    "an iota": (
        "  %r = f32[4]{0} all-to-all(%a), replica_groups=[2,2]<=[4], dimensions={0}",
        4,
        [(4, [[0, 1], [2, 3]])],
    ),
    "a turned iota, which is not read": (
        "  %r = f32[4]{0} all-reduce(%a), replica_groups=[2,2]<=[2,2]T(1,0), to_apply=%add",
        4,
        [(4, [])],
    ),
    "pairs": (
        "  %r = f32[4]{0} collective-permute(%a), source_target_pairs={{0,1},{1,0}}",
        2,
        [(4, [[0, 1], [1, 0]])],
    ),
    "a gather, and a fusion that has one's name": (
        (
            "  ROOT %all-gather = f32[200,10]{1,0} all-gather(%p), replica_groups={{0,1}}\n"
            "  ROOT %f = f32[100,10]{1,0} fusion(%p, %all-reduce), kind=kLoop, calls=%c"
        ),
        2,
        [],
    ),
}


@pytest.mark.parametrize("what", PROGRAMS)
def test_the_reductions_of_a_compiled_program_are_read(what: str) -> None:
    text, devices, expected = PROGRAMS[what]
    assert reductions(text, devices) == expected


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
