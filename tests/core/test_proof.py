"""The one verdict: failed before not proven before succeeded, with the first failure in words."""

from __future__ import annotations

from typing import Any

import pytest

from launchers.core.model.jobs import FAILED, LOST, NOT_PROVEN, STOPPED, SUCCEEDED, LogLine
from launchers.core.output.lines import JobWatch
from launchers.core.proof import NO_NONCE, Expected, Said, expected_of, first_failure, verdict
from launchers.core.records.nonce import PLACEHOLDER
from launchers.core.spec.job import INIT
from tests.core.output.evidences import NONCE, lines_of, record
from tests.fakes.stamps import stamp_of

PROOF = "world size 2: 2 hosts x 1 rank, MPI"
STAMP = stamp_of(NONCE)
DONE = Said(SUCCEEDED, words="SageMaker says Completed")
BROKE = Said(FAILED, "algo-2 ended with code 1", words="SageMaker says Completed")
FAILURE = {"rank": 1, "host": "algo-2", "reason": "KeyError"}
TOGETHER = {0: [record()], 1: [record()]}
APART = {0: [record(())], 1: [record((), 3.0)]}
UNEQUAL = {0: [record()], 1: [record(weight=3.0)]}


def watched(
    proof: str = PROOF,
    evidence: dict[int, list[Any]] | None = None,
    failure: dict[str, Any] | None = None,
    expected: Expected | None = None,
) -> JobWatch:
    """What saw a job's lines: its proof, its failure, its ranks' evidence, all stamped."""
    watch = (expected or Expected(2, 2, nonce=NONCE)).watch()
    if proof:
        watch.see(LogLine(0.0, "algo-1", 0, f"launch: proof: {proof} [{STAMP}]"))
    for rank, records in (evidence or {}).items():
        for line in lines_of(records, rank, STAMP):
            watch.see(line)
    watch.failure = failure
    return watch


# Name: (what the provider says, the proof, the evidence, the failure, the mode, state, reason,
# proof in words).
TABLE: dict[str, tuple[Any, ...]] = {
    "trained together": (
        *(DONE, PROOF, TOGETHER, None, "exchange"),
        *(SUCCEEDED, "", f"{PROOF}; gradients exchanged, weights equal"),
    ),
    "the agent has judged": (
        *(DONE, f"{PROOF}; gradients exchanged, weights equal", None, None, "strict"),
        *(SUCCEEDED, "", f"{PROOF}; gradients exchanged, weights equal"),
    ),
    "no evidence": (
        *(DONE, PROOF, None, None, "exchange"),
        *(SUCCEEDED, "", f"{PROOF}; evidence missing"),
    ),
    "evidence of one rank alone is there": (
        *(DONE, PROOF, {0: [record()]}, None, "exchange"),
        *(SUCCEEDED, "", f"{PROOF}; rank 0 trained, and exchanged with the others, "),
    ),
    "init asks for no evidence": (
        *(DONE, PROOF, APART, None, "init"),
        *(SUCCEEDED, "", PROOF),
    ),
    "strict without evidence": (
        *(DONE, PROOF, None, None, "strict"),
        *(NOT_PROVEN, "completed, but no evidence of the training from ranks 0 and 1", PROOF),
    ),
    "trained apart": (
        *(DONE, PROOF, APART, None, "exchange"),
        *(FAILED, "2 ranks trained apart: no gradient and no weight went through Horovod", PROOF),
    ),
    "weights differ": (
        *(DONE, PROOF, UNEQUAL, None, "exchange"),
        *(FAILED, "gradients were exchanged, but the weights differ at the end", PROOF),
    ),
    "apart in strict mode is a failure too": (
        *(DONE, PROOF, APART, None, "strict"),
        *(FAILED, "2 ranks trained apart", PROOF),
    ),
    "trained apart and not proven": (
        *(DONE, "", APART, None, "exchange"),
        *(FAILED, "2 ranks trained apart", ""),
    ),
    "no proof": (
        *(DONE, "", TOGETHER, None, "exchange"),
        *(NOT_PROVEN, "completed, but no line of its output proves world size 2", ""),
    ),
    "a proof of another size": (
        *(DONE, "world size 4: 2 hosts x 2 ranks, MPI", TOGETHER, None, "exchange"),
        NOT_PROVEN,
        (
            "completed, but it proved another job: world size 4: 2 hosts x 2 ranks, MPI; expected "
            "world size 2 on 2 hosts"
        ),
        "world size 4: 2 hosts x 2 ranks, MPI",
    ),
    "a proof of other hosts": (
        *(DONE, "world size 2: 1 host x 2 ranks, MPI", TOGETHER, None, "exchange"),
        *(
            NOT_PROVEN,
            "completed, but it proved another job",
            "world size 2: 1 host x 2 ranks, MPI",
        ),
    ),
    "logs that cannot be read": (
        *(Said(SUCCEEDED, unreadable="AccessDenied"), "", None, None, "exchange"),
        *(NOT_PROVEN, "completed, but its logs cannot be read, so nothing proves it (Access", ""),
    ),
    "a rank failed although the service says success": (
        *(DONE, PROOF, APART, FAILURE, "exchange"),
        FAILED,
        "rank 1 on algo-2 failed first: KeyError (SageMaker says Completed all the same)",
        PROOF,
    ),
    "a rank failed": (
        *(BROKE, PROOF, None, FAILURE, "exchange"),
        FAILED,
        "rank 1 on algo-2 failed first: KeyError (algo-2 ended with code 1)",
        PROOF,
    ),
    "a rank whose agent tells its end": (
        *(BROKE, "", None, {**FAILURE, "reason": "rank 1 killed by SIGKILL"}, "exchange"),
        *(FAILED, "rank 1 on algo-2 failed first: killed by SIGKILL (algo-2 ended with", ""),
    ),
    "it failed and no rank said why": (
        *(BROKE, "", None, None, "exchange"),
        *(FAILED, "algo-2 ended with code 1", ""),
    ),
    "the agents found that they trained apart": (
        *(BROKE, PROOF, None, {"host": "host-1", "phase": "ending", "reason": "2 ranks trained"}),
        *("exchange", FAILED, "2 ranks trained (algo-2 ended with code 1)", PROOF),
    ),
    "stopped while a rank failed of it": (
        *(Said(STOPPED, "stopped by its user"), PROOF, None, FAILURE, "exchange"),
        *(STOPPED, "stopped by its user", PROOF),
    ),
    "lost": (
        *(Said(LOST, "the engine went away"), PROOF, TOGETHER, None, "exchange"),
        *(LOST, "the engine went away", PROOF),
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_verdict(name: str):
    said, proof, evidence, failure, mode, state, reason, words = TABLE[name]
    expected = Expected(2, 2, mode, NONCE)
    found = verdict(said, watched(proof, evidence, failure), expected)
    assert found.state == state
    assert found.reason.startswith(reason)
    assert bool(found.reason) == (state != SUCCEEDED)
    assert found.proof.startswith(words)
    assert "\n" not in found.reason + found.proof


@pytest.mark.parametrize("evidence", [APART, UNEQUAL])
def test_trained_apart_says_what_the_service_says_and_what_to_change(evidence: dict[int, Any]):
    found = verdict(DONE, watched(evidence=evidence), Expected(2, 2, nonce=NONCE))
    assert "(SageMaker says Completed, since every process ended with 0)" in found.reason
    assert "--proof init" in found.fix


def test_a_fix_of_the_agents_is_handed_on():
    failure = {**FAILURE, "fix": "wrap the optimizer"}
    found = verdict(BROKE, watched(failure=failure), Expected(2, 2, nonce=NONCE))
    assert found.fix == "wrap the optimizer"


def test_a_fix_that_is_no_text_is_none():
    failure = {**FAILURE, "fix": 3}
    assert verdict(BROKE, watched(failure=failure), Expected(2, 2, nonce=NONCE)).fix == ""


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        ({"reason": "no space"}, "no space"),
        ({"host": "algo-2", "reason": "no space"}, "algo-2 failed first: no space"),
        ({"host": "algo-2", "phase": "ending", "reason": "apart"}, "apart"),
        ({"rank": 0, "host": "algo-1", "reason": "x"}, "rank 0 on algo-1 failed first: x"),
        ({"rank": 0, "host": "", "reason": "x"}, "rank 0 on  failed first: x"),
    ],
)
def test_who_failed_first_is_named_where_it_is_known(failure: dict[str, Any], words: str):
    assert first_failure(failure) == words


def test_a_reason_that_the_service_quotes_is_told_once():
    said = Said(FAILED, "algo-2: KeyError")
    found = verdict(said, watched(failure=FAILURE), Expected(2, 2, nonce=NONCE))
    assert found.reason == "rank 1 on algo-2 failed first: KeyError"


def test_a_failure_that_the_service_has_explained_is_not_told_again():
    said = Said(FAILED, "out of memory", explained=True)
    found = verdict(said, watched(failure=FAILURE), Expected(2, 2, nonce=NONCE))
    assert found.reason == "out of memory"


def test_evidence_that_is_not_whole_may_still_come():
    expected = Expected(2, 2, nonce=NONCE)
    assert verdict(DONE, watched(evidence={0: [record()]}), expected).missing == (1,)
    early = {0: [record()], 1: [record(final=False)]}
    assert verdict(DONE, watched(evidence=early), expected).missing == (1,)
    assert verdict(DONE, watched(evidence=TOGETHER), expected).missing == ()


def test_a_world_of_one_rank_has_nothing_to_exchange():
    one = "world size 1: 1 host x 1 rank, Horovod not used"
    for mode in ("exchange", "strict"):
        found = verdict(DONE, watched(one), Expected(1, 1, mode, NONCE))
        assert (found.state, found.proof) == (SUCCEEDED, one)


@pytest.mark.parametrize("nonce", ["", PLACEHOLDER])
def test_without_a_nonce_the_verdict_says_what_it_rests_on(nonce: str):
    expected = Expected(2, 2, nonce=nonce)
    watch = expected.watch()
    stamp = f" [{stamp_of(nonce)}]" if nonce else ""
    watch.see(LogLine(0.0, "algo-1", 0, f"launch: proof: {PROOF}{stamp}"))
    found = verdict(DONE, watch, expected)
    assert found.proof == f"{PROOF}; evidence missing ({NO_NONCE})"
    again = verdict(DONE, expected.watch(), expected, found.proof)
    assert (again.state, again.proof) == (SUCCEEDED, found.proof), "kept, it is proof enough"


def test_a_proof_that_was_seen_before_counts_where_no_line_can_be_read():
    said = Said(SUCCEEDED, unreadable="AccessDenied")
    found = verdict(said, watched(""), Expected(2, 2, nonce=NONCE), proof=PROOF)
    assert (found.state, found.proof) == (SUCCEEDED, f"{PROOF}; evidence missing")


def test_one_job_is_one_job():
    found = verdict(DONE, watched(), Expected(2, 2, nonce=NONCE), jobs={"algo-1": PROOF})
    assert found.state == SUCCEEDED


def test_several_jobs_instead_of_one_are_told():
    one = "world size 1: 1 host x 1 rank, MPI"
    found = verdict(DONE, watched(one), Expected(2, 2, nonce=NONCE), jobs={"b": one, "a": one})
    assert found.state == NOT_PROVEN
    assert found.reason == f"completed, but as 2 jobs instead of one (a: {one}, b: {one})"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, Expected(0)),
        ({"LAUNCH_WORLD_SIZE": "eight", "LAUNCH_PROOF": ["init"]}, Expected(0)),
        (
            {"LAUNCH_WORLD_SIZE": "8", "LAUNCH_INSTANCES": "2", "LAUNCH_PROOF": "init"},
            Expected(8, 2, "init"),
        ),
        ({"LAUNCH_WORLD_SIZE": "8", "LAUNCH_NONCE": NONCE}, Expected(8, nonce=NONCE)),
        ({"LAUNCH_PROOF": "whatever"}, Expected(0, mode="exchange")),
    ],
)
def test_what_a_document_asks_for(environment: dict[str, Any], expected: Expected):
    assert expected_of(environment) == expected


def test_what_explains_a_missing_proof_is_told_with_it():
    watch = watched("")
    watch.see(LogLine(0.0, "algo-1", 0, f"launch: proof: {PROOF}"))
    found = verdict(Said(SUCCEEDED, hint="no mpirun"), watch, Expected(2, 2, nonce=NONCE))
    told = "(no mpirun; 1 proof line without this job's stamp counted for nothing)"
    assert found.reason.endswith(f"proves world size 2 {told}")


@pytest.mark.parametrize(
    ("expected", "asks"),
    [(Expected(1, 1), False), (Expected(2, 2), True), (Expected(2, 2, INIT), False)],
)
def test_ranks_that_trained_with_nobody_are_asked_for_no_evidence(expected: Expected, asks: bool):
    assert expected.asks_for_evidence(f"world size {expected.world_size}, alone") is asks
