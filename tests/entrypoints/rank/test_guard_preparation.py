"""What a guard does before its script runs, for which ranks and in which order; in this process."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime import state_file
from launch_runtime.rank import (
    child,
    exit_hook,
    guard,
    identity,
    keras_choice,
    lifeline,
    masked_output,
    progress,
    secret_values,
    user_script,
    world_check,
)
from launch_runtime.rank.guard import Guard
from launch_runtime.rank.refusal import RefusalError
from launch_runtime.rank.secret_values import Taken

from tests.entrypoints.rank.guard_runs import under_mpirun
from tests.entrypoints.rank.kept_reports import Reporter

SEVERAL = [(1, False), (2, True), (3, True)]


class Preparation:
    """A rank's, with nothing of it done to this process.

    Attributes:
        done: What was done, first things first.
        given: The arguments of each.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, source: Path):
        self.done: list[str] = []
        self.given: dict[str, tuple[Any, ...]] = {}
        self.environment: dict[str, str] = {}
        self.check = SimpleNamespace(end=lambda refusal: None)
        self.reporter = Reporter()
        self._source = source
        timer = SimpleNamespace(start=lambda: None)
        for where, name, comes in (
            (secret_values, "take_in", Taken()),
            (guard, "TrainingWatch", SimpleNamespace(counts=dict)),
            (world_check, "watch", self.check),
            (exit_hook, "install", None),
            (user_script, "prepare", None),
            (keras_choice, "settle", None),
            (child, "hand_down", None),
            (progress, "watch", None),
        ):
            monkeypatch.setattr(where, name, self._noting(_named(where, name), comes))
        threads = SimpleNamespace(Timer=self._noting("warn later", timer))
        monkeypatch.setattr(guard, "threading", threads)
        process = SimpleNamespace(environ=self.environment, getpid=os.getpid)
        monkeypatch.setattr(guard, "os", process)

    def of(self, has_agent: bool = False, **environment: str) -> None:
        """Prepares a rank that was started so."""
        self.reporter.has_agent = has_agent
        self.environment.update(environment, LAUNCH_SOURCE_DIR=str(self._source))
        Guard(self.reporter, ["train.py"], "entrypoints")  # type: ignore[arg-type]

    def under_mpirun(self, size: int) -> None:
        self.of(LAUNCH_WORLD_SIZE=str(size), **under_mpirun(size))

    def _noting(self, name: str, comes: Any) -> Any:
        def note(*given: Any) -> Any:
            self.done.append(name)
            self.given[name] = given
            return comes

        return note


def _named(where: Any, name: str) -> str:
    return name if where is guard else f"{where.__name__.rpartition('.')[2]}.{name}"


@pytest.fixture
def preparation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Preparation:
    (tmp_path / "train.py").write_text("")
    return Preparation(monkeypatch, tmp_path)


@pytest.mark.parametrize(("size", "refused"), SEVERAL)
def test_parts_of_keras_that_horovod_cannot_use_are_refused_where_several_ranks_train(
    size: int, refused: bool, preparation: Preparation
) -> None:
    preparation.under_mpirun(size)
    refuse = preparation.given["keras_choice.settle"][4]
    assert refuse is (preparation.check.end if refused else None)


@pytest.mark.parametrize(("size", "watched"), SEVERAL)
def test_os_exit_is_watched_where_a_rank_may_leave_others_by_it(
    size: int, watched: bool, preparation: Preparation
) -> None:
    preparation.under_mpirun(size)
    assert ("exit_hook.install" in preparation.done) == watched


@pytest.mark.parametrize(
    ("strategy", "settled"), [("horovod", True), ("none", True), ("jax", False), ("torch", False)]
)
def test_keras_is_chosen_for_strategies_that_care_alone(
    strategy: str, settled: bool, preparation: Preparation
) -> None:
    preparation.of(LAUNCH_WORLD_SIZE="1", LAUNCH_STRATEGY=strategy)
    assert ("keras_choice.settle" in preparation.done) == settled


@pytest.mark.parametrize("has_agent", [False, True])
def test_a_rank_warns_of_its_own_world_where_no_agent_does(
    has_agent: bool, preparation: Preparation
) -> None:
    place = {"HOROVOD_SIZE": "2", "HOROVOD_RANK": "1"}
    preparation.of(has_agent=has_agent, LAUNCH_WORLD_SIZE="2", **place)
    assert ("warn later" in preparation.done) != has_agent


def test_secrets_come_before_anything_of_the_users_is_looked_at(preparation: Preparation) -> None:
    preparation.under_mpirun(2)
    assert preparation.done == [
        "secret_values.take_in",
        "TrainingWatch",
        "world_check.watch",
        "exit_hook.install",
        "user_script.prepare",
        "keras_choice.settle",
        "child.hand_down",  # behind what makes PYTHONPATH the user's own again
        "progress.watch",
        "warn later",
    ]


def test_a_refused_rank_says_which_one_it_is_and_asks_for_no_secret(
    preparation: Preparation,
) -> None:
    with pytest.raises(RefusalError, match=r"world size 2 .given by launch's agent"):
        preparation.of(
            has_agent=True, LAUNCH_STRATEGY="torch", LAUNCH_WORLD_SIZE="4", LAUNCH_HOST="host-2",
            **{identity.SEAT: "2 1 1 0"},
        )  # fmt: skip
    assert preparation.done == []
    assert (preparation.reporter.rank, preparation.reporter.host) == (1, "host-2")
    assert identity.SEAT not in preparation.environment


def test_what_a_strategy_prepares_is_no_change_of_the_scripts(preparation: Preparation) -> None:
    preparation.under_mpirun(2)
    assert preparation.environment["HOROVOD_CONTROLLER"] == "mpi"
    given = preparation.given["world_check.watch"][0]
    assert given.variables["HOROVOD_CONTROLLER"] == "mpi"


@pytest.fixture
def masking(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The values that a rank has its output masked for."""
    found: list[Any] = []
    monkeypatch.setattr(masked_output, "start", found.append)
    return found


@pytest.mark.parametrize("has_agent", [False, True])
def test_secrets_are_masked_by_an_agent_where_there_is_one_and_else_by_the_rank(
    has_agent: bool, masking: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secret_values, "take_in", lambda environment: Taken(["value"]))
    reporter = Reporter(has_agent=has_agent)
    guard._take_secrets_in(reporter)  # type: ignore[arg-type]
    assert reporter.masked == (["value"] if has_agent else [])
    assert masking == ([] if has_agent else [["value"]])


def test_without_secrets_nothing_stands_between_a_rank_and_its_output(
    masking: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secret_values, "take_in", lambda environment: Taken())
    guard._take_secrets_in(Reporter())  # type: ignore[arg-type]
    assert masking == []


def test_a_rank_whose_output_cannot_be_masked_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(parts: Any) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(secret_values, "take_in", lambda environment: Taken(["value"]))
    monkeypatch.setattr(masked_output, "start", start)
    with pytest.raises(RefusalError) as caught:
        guard._take_secrets_in(Reporter())  # type: ignore[arg-type]
    assert caught.value.found == "masking cannot start: Too many open files"


def test_every_secret_too_short_to_be_masked_is_named(
    masking: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = Taken(["value"], ["ONE", "OTHER"])
    monkeypatch.setattr(secret_values, "take_in", lambda environment: taken)
    reporter = Reporter()
    guard._take_secrets_in(reporter)  # type: ignore[arg-type]
    assert [line.partition(" has fewer than")[0] for line in reporter.lines] == [
        "launch: warning: the value of the secret ONE",
        "launch: warning: the value of the secret OTHER",
    ]


class Handed:
    """What an agent hands a rank over: the numbers of pipes, in its environment."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, status: int):
        self.status = status
        self.environment: dict[str, str] = {}
        self.armed: list[int] = []
        monkeypatch.setattr(lifeline, "arm", self.armed.append)
        monkeypatch.setattr(state_file, "create", lambda: "/of/its/own")
        process = SimpleNamespace(environ=self.environment, set_inheritable=os.set_inheritable)
        monkeypatch.setattr(guard, "os", process)

    def reporter(self, **environment: str) -> Any:
        self.environment.update(environment)
        return guard._reporter()


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Handed]:
    end, status = os.pipe()
    yield Handed(monkeypatch, status)
    os.close(end)
    os.close(status)


def test_the_agents_pipes_are_the_guards_alone(handed: Handed) -> None:
    os.set_inheritable(handed.status, True)
    reporter = handed.reporter(
        LAUNCH_STATUS_FD=str(handed.status), LAUNCH_LIFELINE_FD="77", LAUNCH_STACKS_FD="-",
        LAUNCH_NONCE="nonce", LAUNCH_RANK_STATE="/of/the/agent",
    )  # fmt: skip
    assert reporter.has_agent
    assert handed.armed == [77]
    assert not os.get_inheritable(handed.status)
    assert handed.environment == {"LAUNCH_RANK_STATE": "/of/the/agent"}
    assert reporter.state_path == "/of/the/agent"
    assert reporter.stamp == "", "its agent's lines carry it"


@pytest.mark.parametrize("lifeline", ["", "77"])
def test_a_rank_without_a_status_pipe_has_no_agent_and_lives_on_its_own(
    lifeline: str, handed: Handed
) -> None:
    reporter = handed.reporter(LAUNCH_LIFELINE_FD=lifeline, LAUNCH_NONCE="nonce")
    assert not reporter.has_agent
    assert handed.armed == []
    assert handed.environment == {}
    assert reporter.stamp
    assert reporter.state_path == "/of/its/own"


def test_an_agent_without_a_lifeline_is_an_agent(handed: Handed) -> None:
    assert handed.reporter(LAUNCH_STATUS_FD=str(handed.status)).has_agent
    assert handed.armed == []
