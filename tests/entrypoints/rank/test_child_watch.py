"""What a rank hands down to Python processes that its script starts, and what these make of it; in
this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime import strategies
from launch_runtime.rank import child, exit_hook, keras_choice, world_check
from launch_runtime.rank.identity import AGENT, MPIRUN, Place, Promise
from launch_runtime.rank.reporter import Reporter
from launch_runtime.rank.world_check import Given

GUARD = 4321
HOOK = os.path.join("entrypoints", "launch_runtime", "child_hook")


class Child:
    """A process that the script has started, with nothing of its watch done to this one.

    Attributes:
        given: The arguments of what was done.
        finished: The codes with which its training was.
        at_exit: What is called at its end.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self._monkeypatch = monkeypatch
        self.given: dict[str, tuple[Any, ...]] = {}
        self.finished: list[int] = []
        self.at_exit: list[Callable[[], None]] = []
        self.check = SimpleNamespace(end=lambda refusal: None)
        training = SimpleNamespace(finish=self.finished.append)
        atexit = SimpleNamespace(register=self.at_exit.append)
        monkeypatch.setattr(child, "atexit", atexit)
        for where, name, comes in (
            (child, "TrainingWatch", training),
            (world_check, "watch", self.check),
            (keras_choice, "in_child", None),
            (exit_hook, "install", None),
        ):
            monkeypatch.setattr(where, name, self._noting(name, comes))

    def of(
        self, size: int = 2, by: str = MPIRUN, strategy: str = "horovod", evidence: bool = True
    ) -> None:
        """Watches one that a rank of such a job has started."""
        place = Place(size, 1, 1, 0, "host-2", by)
        self.rank = Given(Promise(size, size, 1), place, {"HOROVOD_SIZE": str(size)}, GUARD)
        reporter = Reporter("/of/the/rank", rank=1, host="host-2", stamp="s", guard=GUARD)
        environment: dict[str, str] = {}
        named = strategies.named(strategy)
        child.hand_down(environment, self.rank, named, reporter, evidence, "entrypoints")
        self._monkeypatch.setenv(child.VARIABLE, environment[child.VARIABLE])
        child.watch()

    @property
    def reporter(self) -> Reporter:
        found: Reporter = self.given["watch"][1]
        return found

    def _noting(self, name: str, comes: Any) -> Any:
        def note(*given: Any) -> Any:
            self.given[name] = given
            return comes

        return note


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Child:
    return Child(monkeypatch)


@pytest.mark.parametrize("by", [MPIRUN, AGENT])
def test_a_child_is_watched_by_what_its_rank_was_given(by: str, started: Child) -> None:
    started.of(by=by)
    assert started.given["watch"][0] == started.rank
    reporter = started.reporter
    assert (reporter.rank, reporter.host, reporter.stamp) == (1, "host-2", "s")
    assert reporter.state_path == "/of/the/rank"
    assert reporter.has_agent == (by == AGENT)
    assert reporter.script_runs, "a line of the rank's may stand behind half of its"


@pytest.mark.parametrize(("size", "refused"), [(1, False), (2, True), (3, True)])
def test_keras_is_settled_in_a_child_as_in_its_rank(
    size: int, refused: bool, started: Child
) -> None:
    started.of(size)
    refuse = started.given["in_child"][2]
    assert refuse is (started.check.end if refused else None)


def test_keras_is_left_alone_in_a_child_whose_strategy_does_not_care(started: Child) -> None:
    started.of(strategy="torch")
    assert "in_child" not in started.given


@pytest.mark.parametrize("evidence", [False, True])
def test_a_childs_end_is_watched_where_its_training_is(evidence: bool, started: Child) -> None:
    started.of(evidence=evidence)
    assert started.given["TrainingWatch"][1:3] == (evidence, GUARD)
    assert ("install" in started.given) == evidence
    assert len(started.at_exit) == int(evidence)


@pytest.mark.parametrize(("error", "code"), [(ValueError, 1), (None, 0)])
def test_a_child_whose_last_record_takes_too_long_ends_as_python_would_have_ended_it(
    error: type[Exception] | None, code: int, started: Child, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(sys, "last_type", raising=False)
    started.of()
    if error is not None:
        monkeypatch.setattr(sys, "last_type", error, raising=False)
    started.at_exit[0]()
    assert started.finished == [code]


@pytest.mark.parametrize("status", [0, 3])
def test_a_child_that_calls_os_exit_finishes_its_training_and_keeps_its_code(
    status: int, started: Child
) -> None:
    started.of()
    (before_exit,) = started.given["install"]
    assert before_exit(status) == status
    assert started.finished == [status]


@pytest.mark.parametrize(
    ("own", "handed"),
    [
        ({}, [HOOK]),
        ({"PYTHONPATH": ""}, [HOOK]),
        ({"PYTHONPATH": os.pathsep.join(["one", "two"])}, [HOOK, "one", "two"]),
    ],
)
def test_a_childs_python_looks_into_the_hooks_folder_and_then_where_it_would_have(
    own: dict[str, str], handed: list[str]
) -> None:
    given = Given(Promise(1, 1, 1), Place(1, 0, 1, 0, "here", MPIRUN), {}, GUARD)
    environment = dict(own)
    strategy = strategies.named("horovod")
    child.hand_down(environment, given, strategy, Reporter("state"), False, "entrypoints")
    assert environment["PYTHONPATH"].split(os.pathsep) == handed
