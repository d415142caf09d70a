from __future__ import annotations

import pytest
from launch_runtime.rank.tracebacks import describe, is_consequence


class HorovodInternalError(RuntimeError):
    """As Horovod names its own."""


class PeerEndedError(Exception):
    """As the shared training scripts name theirs."""


def over(first: BaseException, second: BaseException) -> BaseException:
    second.__context__ = first
    return second


SHUT_DOWN = RuntimeError(
    "{{function_node __wrapped__HorovodAllreduce_device_/job:localhost/replica:0}} Horovod has "
    "been shut down. This was caused by an exception on one of the ranks [Op:HorovodAllreduce]"
)

SHUT = "Horovod has been shut down."
# Of a loop without tf.function: the frames alone fill more than a reason has room for.
GRAPH_ERROR = (
    "Graph execution error:\n\nDetected at node Allreduce_0 defined at (most recent call last):\n"
    + '  File "/site-packages/horovod/tensorflow/mpi_ops.py", line 130, in _allreduce\n\n' * 9
    + f"{SHUT}\n\t [[{{{{node Allreduce_0}}}}]] [Op:__inference_allreduce_48]"
)
BAD_SHAPE = "Graph execution error:\n\nDetected at node x defined at (most recent call last):\n"
BAD_SHAPE += "<stack traces unavailable>\nlogits and labels must be broadcastable"

MISMATCH = "Mismatched allreduce tensor shapes: One rank sent a tensor of shape [2], but another"

ERRORS = [
    (RuntimeError(GRAPH_ERROR), True),
    (RuntimeError(BAD_SHAPE), False),
    (HorovodInternalError("x"), True),
    (HorovodInternalError("ncclAllReduce failed: unhandled system error"), True),
    (
        HorovodInternalError("ncclCommInitRank failed: invalid usage (run with NCCL_DEBUG=WARN)"),
        False,
    ),
    (over(RuntimeError(MISMATCH), HorovodInternalError(MISMATCH)), False),
    (HorovodInternalError("Duplicate tensor name in queue: allreduce.weights"), False),
    (HorovodInternalError("ncclAllReduce failed: CUDA driver: out of memory"), False),
    (PeerEndedError("rank 1: no data"), True),
    (SHUT_DOWN, True),
    (RuntimeError("[pair.cc:598] Connection closed by peer [127.0.0.1]:30086"), True),
    (over(SHUT_DOWN, SystemExit(1)), True),
    (over(over(SHUT_DOWN, KeyError("x")), SystemExit(1)), True),
    (ValueError("boom"), False),
    (over(ValueError("boom"), SystemExit(1)), False),
    (SystemExit(1), False),
]


@pytest.mark.parametrize(("error", "expected"), ERRORS, ids=range(len(ERRORS)))
def test_what_only_follows_another_ranks_end_is_known(error: BaseException, expected: bool) -> None:
    assert is_consequence(error) == expected


def test_a_chain_that_bites_its_own_tail_ends() -> None:
    first, second = ValueError("a"), ValueError("b")
    first.__context__, second.__context__ = second, first
    assert not is_consequence(first)


class UnprintableError(Exception):
    """An error whose text cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("boom"), "ValueError: boom"),
        (
            ValueError(GRAPH_ERROR),
            f"ValueError: {SHUT} [[{{{{node Allreduce_0}}}}]] [Op:__inference_allreduce_48]",
        ),
        (ValueError(BAD_SHAPE), "ValueError: logits and labels must be broadcastable"),
        (ValueError("Graph execution error: bare"), "ValueError: Graph execution error: bare"),
        (ValueError(), "ValueError"),
        (ValueError("two\nlines"), "ValueError: two lines"),
        (UnprintableError(), f"{__name__}.UnprintableError: (its text cannot be printed)"),
        (SHUT_DOWN, "RuntimeError: " + str(SHUT_DOWN).partition("}} ")[2]),
    ],
)
def test_an_error_is_one_line(error: BaseException, text: str) -> None:
    assert describe(error) == text


def test_a_long_text_is_cut() -> None:
    assert len(describe(ValueError("x" * 10_000))) == 400
