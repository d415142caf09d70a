from __future__ import annotations

import json

import pytest
from launch_runtime import lines, strategies
from launch_runtime.failures import (
    ENDING,
    STARTING,
    TRAINING,
    TRANSIENT_CODES,
    Failure,
    from_fields,
    of_exit,
    signal_name,
)

from launchers.core.output.lines import JobWatch, parse_tagged, proven

# exit status as subprocess has it, phase; exit code, signal, the agents' code, consequence
EXITS = [
    (3, TRAINING, 3, None, 3, False),
    (1, STARTING, 1, None, 1, False),
    (-9, TRAINING, 137, "SIGKILL", 137, False),
    (-9, STARTING, 137, "SIGKILL", 137, False),
    (-6, STARTING, 134, "SIGABRT", 1, True),
    (-6, TRAINING, 134, "SIGABRT", 134, False),
    (-11, STARTING, 139, "SIGSEGV", 1, False),
    (-11, ENDING, 139, "SIGSEGV", 139, False),
    (6, STARTING, 6, None, 1, False),
    (11, STARTING, 11, None, 1, False),
    (134, STARTING, 134, None, 1, False),
    (139, TRAINING, 139, None, 139, False),
    (0, STARTING, 0, None, 1, False),
]


@pytest.mark.parametrize(("status", "phase", "exit_code", "name", "code", "consequence"), EXITS)
def test_an_exit_becomes_a_code_that_no_service_takes_for_something_else(
    status: int, phase: str, exit_code: int, name: str | None, code: int, consequence: bool
) -> None:
    failure = of_exit("host-1", 3, status, phase, world_size=4)
    assert (failure.exit_code, failure.signal, failure.code) == (exit_code, name, code)
    assert failure.consequence == consequence
    assert failure.code != 0
    assert not (phase == STARTING and failure.code in TRANSIENT_CODES)


@pytest.mark.parametrize(
    ("said", "consequence", "reason"),
    [
        ("", True, "killed by SIGABRT (PyTorch ends so where a peer is gone)"),
        (
            "NCCL error: remote process",
            True,
            "killed by SIGABRT (PyTorch ends so where a peer is gone): NCCL error: remote process",
        ),
        (
            "CUDA error: device-side assert triggered",
            False,
            "killed by SIGABRT: CUDA error: device-side assert triggered",
        ),
    ],
    ids=["nothing", "a peer", "its own fault"],
)
def test_what_a_rank_says_of_its_abort_is_told_and_may_be_its_own_fault(
    said: str, consequence: bool, reason: str
) -> None:
    words = strategies.named("torch").words
    failure = of_exit("host-1", 1, -6, TRAINING, 2, words, said)
    assert (failure.consequence, failure.reason) == (consequence, f"rank 1 {reason}")


def test_a_failure_arrives_on_another_host_as_it_was() -> None:
    failure = Failure("host-2", "boom", TRAINING, rank=3, exit_code=137, signal="SIGKILL")
    assert from_fields(json.loads(json.dumps(failure.fields()))) == failure
    with pytest.raises(ValueError, match="unexpected"):
        from_fields({"host": "a", "reason": "b", "phase": "c", "another": 1})


def test_signals_without_a_name_have_their_number() -> None:
    assert (signal_name(15), signal_name(63)) == ("SIGTERM", "signal 63")


def test_the_launcher_reads_what_is_printed_here() -> None:
    watch = JobWatch()
    failure = Failure("host-2", "two\nlines \x1b[31m", TRAINING, rank=3, exit_code=1)
    for text in (lines.proof(lines.world(4, 2, 2, "Gloo")), failure.line()):
        assert "\n" not in text
        watch.see(parse_tagged(f"[host-1/agent] {text}"))
    assert proven(watch.proof, 4)
    assert watch.failure == {
        "rank": 3, "host": "host-2", "exit_code": 1, "signal": None, "phase": "training",
        "reason": "two lines ?[31m",
    }  # fmt: skip
    assert proven(lines.proof(lines.world(1, 1, 1, "Horovod not used")).partition("proof: ")[2], 1)
