"""What a guard makes of its script's end, and of a world that was never joined; in this process."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime.rank import exit_hook, guard, masked_output
from launch_runtime.rank.guard import Guard
from launch_runtime.rank.identity import Promise
from launch_runtime.rank.refusal import RefusalError
from launch_runtime.strategies.horovod import STRATEGY


class Ended(BaseException):
    """The rank's process would end here."""


class Reporter:
    """Keeps what a rank says."""

    def __init__(self, initialised: bool = False):
        self.initialised, self.rank = initialised, 5
        self.refusals: list[RefusalError] = []
        self.lines: list[str] = []
        self.proofs: list[str] = []
        self.failures: list[tuple[Any, ...]] = []

    def refuse(self, refusal: RefusalError) -> None:
        self.refusals.append(refusal)

    def line(self, text: str) -> None:
        self.lines.append(text)

    def proof(self, text: str) -> None:
        self.proofs.append(text)

    def failing(self, *what: Any) -> None:
        self.failures.append(what)


class Rank:
    """A guard behind its checks, in front of its script's end."""

    def __init__(self, size: int = 8, initialised: bool = False, in_child: bool = False):
        self.reporter = Reporter(initialised)
        self.finished: list[int] = []
        self.guard: Any = Guard.__new__(Guard)
        self.guard._reporter, self.guard._code = self.reporter, 0
        self.guard._pid = os.getppid() if in_child else os.getpid()
        self.guard._promise = Promise(size, 0, 0)
        self.guard._strategy, self.guard._words = STRATEGY, STRATEGY.words
        self.guard._training = SimpleNamespace(
            finish=lambda status=0: self.finished.append(status),
        )


@pytest.fixture(autouse=True)
def ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(code: int) -> None:
        raise Ended(code)

    monkeypatch.setattr(exit_hook, "at_once", end)
    monkeypatch.setattr(masked_output, "settle", lambda: None)


@pytest.mark.parametrize(
    ("code", "expected"),
    [(None, 0), (0, 0), (3, 3), (255, 255), (256, 0), (257, 1), (-1, 255), ("text", 1), (2.0, 1)],
)
def test_a_script_that_calls_sys_exit_ends_with_pythons_code_for_it(
    code: Any, expected: int
) -> None:
    assert guard._exit_code(SystemExit(code)) == expected


def test_a_rank_that_ends_well_without_having_joined_is_refused_at_its_end() -> None:
    rank = Rank()
    with pytest.raises(Ended) as caught:
        rank.guard._at_end()
    assert caught.value.args == (1,)
    (refusal,) = rank.reporter.refusals
    assert refusal.expected == "one job of world size 8"
    assert rank.finished == []


def test_a_rank_that_has_joined_ends_its_training_and_proves_nothing_more() -> None:
    rank = Rank(initialised=True)
    rank.guard._at_end()
    assert (rank.finished, rank.reporter.refusals, rank.reporter.proofs) == ([0], [], [])


def test_a_single_rank_that_joined_nothing_is_proven_at_its_end() -> None:
    rank = Rank(size=1)
    rank.guard._at_end()
    assert rank.finished == [0]
    assert rank.reporter.proofs == [STRATEGY.words.alone()]


def test_a_rank_that_has_failed_is_neither_refused_nor_judged_at_its_end() -> None:
    rank = Rank()
    rank.guard._code = 3
    rank.guard._at_end()
    assert (rank.finished, rank.reporter.refusals) == ([], [])


@pytest.mark.parametrize("code", [None, 3])
def test_a_forked_childs_end_ends_its_own_training_alone(code: int | None) -> None:
    rank = Rank(in_child=True)
    rank.guard._code = code
    rank.guard._at_end()
    assert (rank.finished, rank.reporter.refusals) == ([code or 0], [])


@pytest.mark.parametrize(
    ("made", "status", "expected", "finished"),
    [
        ({"initialised": True}, 0, 0, [0]),
        ({"initialised": False}, 0, 1, []),
        ({"initialised": False}, 3, 3, []),
        ({"initialised": True}, 3, 3, []),
        ({"initialised": False, "in_child": True}, 0, 0, [0]),
        ({"initialised": False, "in_child": True}, 3, 3, [3]),
        ({"initialised": False, "size": 1}, 0, 0, [0]),
    ],
)
def test_os_exit_keeps_its_code_but_for_a_rank_that_joined_nothing(
    made: dict[str, Any], status: int, expected: int, finished: list[int]
) -> None:
    rank = Rank(**made)
    assert rank.guard._before_exit(status) == expected
    assert rank.finished == finished
    assert bool(rank.reporter.refusals) == (expected != status)


@pytest.mark.parametrize(
    ("error", "code", "mute"),
    [(SystemExit(3), 3, True), (SystemExit("text"), 1, False), (ValueError("boom"), 1, False)],
)
def test_a_reason_that_is_a_mere_number_is_said_to_tell_nothing(
    error: BaseException, code: int, mute: bool
) -> None:
    rank = Rank()
    rank.guard._failing(error, code, "reason")
    assert rank.reporter.failures == [("reason", code, False, mute)]


def test_a_world_that_is_not_joined_for_long_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[Any] = []

    class Timer:
        daemon = started = False

        def __init__(self, *what: Any):
            self.what = what
            timers.append(self)

        def start(self) -> None:
            self.started = True

    monkeypatch.setattr(guard, "threading", SimpleNamespace(Timer=Timer))
    monkeypatch.delenv("LAUNCH_INIT_WARNING_SECONDS", raising=False)
    Rank(size=1).guard._warn_later()
    assert timers == []
    rank = Rank(size=2)
    rank.guard._warn_later()
    (timer,) = timers
    after, warn, given = timer.what
    assert (after, timer.daemon, timer.started) == (300.0, True, True)
    warn(*given)
    (line,) = rank.reporter.lines
    assert f"warning: {STRATEGY.words.join} has not been called after 300 s" in line
    rank.reporter.initialised = True
    warn(*given)
    assert len(rank.reporter.lines) == 1


def test_the_agents_pipe_is_the_guards_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    end, status = os.pipe()
    os.set_inheritable(status, True)
    try:
        monkeypatch.setenv("LAUNCH_STATUS_FD", str(status))
        monkeypatch.delenv("LAUNCH_LIFELINE_FD", raising=False)
        assert guard._reporter().has_agent
        assert "LAUNCH_STATUS_FD" not in os.environ
        assert not os.get_inheritable(status)
    finally:
        os.close(end)
        os.close(status)
    assert not guard._reporter().has_agent
