"""What a guard makes of its script's end, and of a world that was never joined; in this process."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime.environment import SettingError
from launch_runtime.rank import exit_hook, guard, masked_output, tracebacks, user_script
from launch_runtime.rank.guard import Guard
from launch_runtime.rank.identity import Promise
from launch_runtime.rank.refusal import RefusalError
from launch_runtime.strategies.horovod import STRATEGY

from tests.entrypoints.rank.kept_reports import Reporter


class Ended(BaseException):
    """The rank's process would end here."""


class Rank:
    """A guard behind its checks, in front of its script's end; ``above`` is by how much its process
    id is more than this process's, which is a forked child then."""

    def __init__(self, size: int = 8, initialised: bool = False, above: int = 0):
        self.reporter = Reporter(initialised)
        self.finished: list[int] = []
        self.stood_by = 0
        self.guard: Any = Guard.__new__(Guard)
        self.guard._reporter, self.guard._code = self.reporter, 0
        self.guard._pid = os.getpid() + above
        self.guard._script = SimpleNamespace()
        self.guard._promise = Promise(size, 0, 0)
        self.guard._strategy, self.guard._words = STRATEGY, STRATEGY.words
        self.guard._training = SimpleNamespace(
            finish=lambda status=0: self.finished.append(status),
            stand_by=self._stand_by,
        )

    def _stand_by(self) -> None:
        self.stood_by += 1

    def run(self, monkeypatch: pytest.MonkeyPatch, end: BaseException | None) -> None:
        """Runs a script that ends so."""

        def execute(script: Any) -> None:
            assert script is self.guard._script
            assert self.reporter.script_runs, "a line of the rank's may stand behind half of its"
            if end is not None:
                raise end

        monkeypatch.setattr(user_script, "execute", execute)
        self.guard.run()


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


@pytest.fixture
def at_exit(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a guard registers for its process's end; Python calls the last of it first."""
    found: list[Any] = []
    monkeypatch.setattr(guard, "atexit", SimpleNamespace(register=found.append))
    return found


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """The errors whose tracebacks a guard prints."""
    found: list[BaseException] = []
    monkeypatch.setattr(tracebacks, "show", found.append)
    return found


@pytest.mark.parametrize("end", [None, SystemExit(), SystemExit(0), SystemExit(256)])
def test_a_script_that_ends_well_is_told_of_ahead_of_its_handlers_and_judged_behind_them(
    end: SystemExit | None, at_exit: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rank = Rank()
    if end is None:
        rank.run(monkeypatch, None)
    else:
        with pytest.raises(SystemExit) as caught:
            rank.run(monkeypatch, end)
        assert caught.value is end
    assert at_exit == [rank.guard._at_end, rank.reporter.ended]
    assert rank.stood_by == 1
    assert rank.reporter.failures == []


class HorovodInternalError(Exception):
    """What a rank meets whose peer has gone."""


@pytest.mark.parametrize(
    ("end", "reason", "code", "consequence", "mute"),
    [
        (SystemExit(3), "the script called sys.exit(3)", 3, False, True),
        (SystemExit("no data"), "the script called sys.exit('no data')", 1, False, False),
        (ValueError("boom"), "ValueError: boom", 1, False, False),
        (HorovodInternalError("gone"), f"{__name__}.HorovodInternalError: gone", 1, True, False),
    ],
)
def test_a_script_that_fails_is_told_of_with_its_reason_and_ends_the_rank_with_its_code(
    end: BaseException, reason: str, code: int, consequence: bool, mute: bool,
    at_exit: list[Any], shown: list[BaseException], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    rank = Rank()
    with pytest.raises(SystemExit) as caught:
        rank.run(monkeypatch, end)
    assert guard._exit_code(caught.value) == code
    assert rank.reporter.failures == [(reason, code, consequence, mute)]
    assert shown == ([] if isinstance(end, SystemExit) else [end])
    assert at_exit == [rank.guard._at_end], "it has not come to its end"
    assert rank.stood_by == 0


@pytest.mark.parametrize("has_agent", [False, True])
def test_an_interrupts_traceback_is_printed_once_and_not_where_an_agent_has_asked_for_it(
    has_agent: bool, at_exit: list[Any], shown: list[BaseException],
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    rank = Rank()
    rank.reporter.has_agent = has_agent
    end = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        rank.run(monkeypatch, end)
    assert shown == ([] if has_agent else [end])
    sys.excepthook(KeyboardInterrupt, end, None)  # as Python does at its end
    assert capsys.readouterr().err == ""
    assert rank.reporter.failures == [], "somebody wanted the rank to end"
    rank.guard._at_end()
    assert (rank.finished, rank.reporter.refusals) == ([], [])


@pytest.mark.parametrize(
    ("end", "code"), [(None, 0), (SystemExit(3), 3), (KeyboardInterrupt(), 130), (ValueError(), 1)]
)
def test_a_forked_child_that_runs_to_the_scripts_end_finishes_with_its_own_code(
    end: BaseException | None, code: int, at_exit: list[Any], shown: list[BaseException],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    rank = Rank(above=-1)
    try:
        rank.run(monkeypatch, end)
    except (SystemExit, KeyboardInterrupt):
        assert end is not None
    at_exit[0]()
    assert rank.finished == [code]


def test_a_script_that_came_to_its_end_is_refused_there_if_its_rank_joined_nothing(
    at_exit: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rank = Rank()
    rank.run(monkeypatch, None)
    with pytest.raises(Ended):
        at_exit[0]()
    assert len(rank.reporter.refusals) == 1


def test_a_rank_that_ends_well_without_having_joined_is_refused_at_its_end() -> None:
    rank = Rank()
    with pytest.raises(Ended) as caught:
        rank.guard._at_end()
    assert caught.value.args == (1,)
    (refusal,) = rank.reporter.refusals
    assert refusal.expected == "one job of world size 8"
    assert rank.finished == []


def test_a_refusal_at_the_end_is_handed_on_before_the_process_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []
    monkeypatch.setattr(masked_output, "settle", lambda: done.append("handed on"))
    rank = Rank()
    with pytest.raises(Ended):
        rank.guard._at_end()
    assert done == ["handed on"]
    assert rank.guard._before_exit(0) == 1
    assert done == ["handed on"] * 2


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


@pytest.mark.parametrize("above", [-1, 1])  # process ids begin anew after the last one
@pytest.mark.parametrize("code", [None, 3])
def test_a_forked_childs_end_ends_its_own_training_alone(code: int | None, above: int) -> None:
    rank = Rank(above=above)
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
        ({"initialised": False, "above": -1}, 0, 0, [0]),
        ({"initialised": False, "above": -1}, 3, 3, [3]),
        ({"initialised": False, "above": 1}, 0, 0, [0]),
        ({"initialised": False, "above": 1}, 3, 3, [3]),
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


def test_a_wrong_setting_is_said_and_ends_the_rank_before_its_script(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reporter = _main(monkeypatch, SettingError("LAUNCH_PROOF: found 'x'"))
    assert reporter.failures == [("LAUNCH_PROOF: found 'x'", 1)]
    assert reporter.lines == ["launch: LAUNCH_PROOF: found 'x'"]
    assert reporter.refusals == []


def test_a_refused_rank_says_why_and_ends_before_its_script(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refusal = RefusalError("world size 2", "world size 1")
    assert _main(monkeypatch, refusal).refusals == [refusal]


def _main(monkeypatch: pytest.MonkeyPatch, error: Exception) -> Reporter:
    """What is said by a rank that ends with code 1 because of ``error``."""
    reporter = Reporter()

    def make(*given: Any) -> None:
        assert given == (reporter, ["train.py"], "entrypoints")
        raise error

    monkeypatch.setattr(guard, "_reporter", lambda: reporter)
    monkeypatch.setattr(guard, "Guard", make)
    with pytest.raises(SystemExit) as caught:
        guard.main(["train.py"], "entrypoints")
    assert caught.value.code == 1
    return reporter
