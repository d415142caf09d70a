"""What Horovod made of a rank, against what the rank was given: each of the four numbers counts."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

import pytest
from launch_runtime.rank import exit_hook, world_check
from launch_runtime.rank.identity import AGENT, MPIRUN, Place, Promise
from launch_runtime.rank.refusal import RefusalError
from launch_runtime.rank.world_check import Given, World, WorldCheck
from launch_runtime.strategies.horovod import STRATEGY, Moment, carried_by

PLACE = Place(size=8, rank=5, local_size=4, local_rank=1, host="algo-2", by=MPIRUN)
FIELDS = ("size", "rank", "local_size", "local_rank")


class Horovod:
    """One that has this place."""

    def __init__(self, initialised: bool = True, **values: Any):
        self._initialised = initialised
        self._values = {name: getattr(PLACE, name) for name in FIELDS}
        self._values.update(values)

    def is_initialized(self) -> bool:
        return self._initialised

    def __getattr__(self, name: str) -> Any:
        return lambda: self._values[name]


class Reporter:
    """Keeps what a rank reports."""

    def __init__(self) -> None:
        self.initialised = False
        self.refusals: list[RefusalError] = []
        self.proofs: list[str] = []
        self.lines: list[str] = []

    def note_initialised(self) -> None:
        self.initialised = True

    def proof(self, text: str) -> None:
        self.proofs.append(text)

    def refuse(self, refusal: RefusalError) -> None:
        self.refusals.append(refusal)

    def refuse_in_child(self, refusal: RefusalError, agent_looks: bool) -> None:
        self.refusals.append(refusal)
        self.agent_looks = agent_looks

    def line(self, text: str) -> None:
        self.lines.append(text)


class Ended(BaseException):
    """The rank's process would end here."""


@pytest.fixture
def reporter(monkeypatch: pytest.MonkeyPatch) -> Reporter:
    def end(code: int) -> None:
        raise Ended(code)

    monkeypatch.setattr(exit_hook, "at_once", end)
    return Reporter()


def _check(reporter: Reporter, place: Place = PLACE, hosts: int = 2) -> Moment:
    given = Given(Promise(8, hosts, 4), place, {}, os.getpid())
    return Moment(WorldCheck(given, reporter, STRATEGY))  # type: ignore[arg-type]


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("change", [-1, 1])
def test_any_number_that_is_not_the_given_one_ends_the_rank(
    field: str, change: int, reporter: Reporter
) -> None:
    found = getattr(PLACE, field) + change

    with pytest.raises(Ended):
        _check(reporter).after(Horovod(**{field: found}), (), {})

    (refusal,) = reporter.refusals
    word = "world size" if field == "size" else field.replace("_", " ")
    assert f"{word} {found}" in str(refusal.found)
    assert not reporter.initialised


def test_the_given_place_passes_and_only_rank_0_proves_it_once(reporter: Reporter) -> None:
    _check(reporter).after(Horovod(), (), {})
    assert (reporter.initialised, reporter.proofs, reporter.refusals) == (True, [], [])

    reporter.initialised = False
    first = PLACE._replace(rank=0, local_rank=0)
    horovod = Horovod(rank=0, local_rank=0, nccl_built=False, mpi_enabled=True)
    for _ in range(2):
        _check(reporter, first).after(horovod, (), {})
    assert reporter.proofs == ["world size 8: 2 hosts x 4 ranks, MPI"]


def test_hosts_that_were_not_promised_are_counted_by_the_ranks_of_each(reporter: Reporter) -> None:
    first = PLACE._replace(rank=0, local_rank=0)
    horovod = Horovod(rank=0, local_rank=0, nccl_built=False, mpi_enabled=False)
    _check(reporter, first, hosts=0).after(horovod, (), {})
    assert reporter.proofs == ["world size 8: 2 hosts x 4 ranks, Gloo"]


def test_an_init_during_a_shutdown_counts_for_nothing(reporter: Reporter) -> None:
    _check(reporter).after(Horovod(initialised=False, size=1), (), {})
    assert (reporter.initialised, reporter.refusals) == (False, [])


@pytest.mark.parametrize(
    ("nccl", "gpus", "mpi", "carrier"),
    [
        (True, True, True, "NCCL"),
        (True, False, True, "MPI"),
        (False, True, True, "MPI"),
        (True, False, False, "Gloo"),
    ],
)
def test_what_carries_gradients_is_nccl_only_with_gpus_and_a_horovod_that_has_it(
    nccl: bool, gpus: bool, mpi: bool, carrier: str
) -> None:
    assert carried_by(Horovod(nccl_built=nccl, mpi_enabled=mpi), gpus) == carrier


VARIABLES = {"HOROVOD_SIZE": "8", "HOROVOD_RANK": "5"}


class Training:
    """Keeps what the watch on the training is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def joined(self) -> None:
        self.told.append("joined")

    def leaving(self) -> None:
        self.told.append("leaving")


def _in(reporter: Reporter, guard: int, place: Place = PLACE, training: Any = None) -> WorldCheck:
    given = Given(Promise(8, 2, 4), place, VARIABLES, guard)
    return WorldCheck(given, reporter, STRATEGY, training)  # type: ignore[arg-type]


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The rank's own, as they were given."""
    for name in STRATEGY.place_names:
        monkeypatch.delenv(name, raising=False)
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def test_whoever_watches_the_training_is_told_when_the_world_is_joined_and_left(
    reporter: Reporter,
) -> None:
    training = Training()
    check = _in(reporter, os.getpid(), training=training)
    check.joined(World(8, 5, 4, 1), lambda: "Gloo", lambda: ("", ""))
    check.leaving()
    assert training.told == ["joined", "leaving"]
    assert check.is_watched
    unwatched = _in(reporter, os.getpid())
    unwatched.leaving()
    assert not unwatched.is_watched


def test_numbers_that_a_strategy_cannot_tell_are_not_compared(reporter: Reporter) -> None:
    for promise in (Promise(8, 2, 4), Promise(8, 0, 0)):
        given = Given(promise, PLACE._replace(rank=0), {}, os.getpid())
        check = WorldCheck(given, reporter, STRATEGY)  # type: ignore[arg-type]
        reporter.initialised = False
        check.joined(World(size=8), lambda: "Gloo", lambda: ("", ""))
    assert reporter.refusals == []
    assert reporter.proofs == ["world size 8: 2 hosts x 4 ranks, Gloo"] * 2


def test_variables_that_the_script_has_changed_are_warned_of(
    reporter: Reporter, variables: pytest.MonkeyPatch
) -> None:
    check = _in(reporter, os.getpid())
    check.before()
    assert reporter.lines == []
    variables.setenv("HOROVOD_SIZE", "4")
    variables.delenv("HOROVOD_RANK")
    check.before()
    (line,) = reporter.lines
    assert line.startswith(f"launch: warning: before {STRATEGY.words.join}, the script has removed")
    assert line.endswith("HOROVOD_RANK; the script has changed HOROVOD_SIZE from 8 to 4")


def test_changed_variables_are_the_cause_of_another_world(
    reporter: Reporter, variables: pytest.MonkeyPatch
) -> None:
    variables.setenv("HOROVOD_SIZE", "4")
    with pytest.raises(Ended):
        _in(reporter, os.getpid()).joined(World(size=4), str, lambda: ("another cause", ""))
    (refusal,) = reporter.refusals
    assert refusal.cause == "the script has changed HOROVOD_SIZE from 8 to 4"
    assert refusal.found == f"world size 4 when {STRATEGY.words.join} returned"


class Stream:
    """One that keeps what was done to it."""

    def __init__(self) -> None:
        self.flushed = 0

    def flush(self) -> None:
        self.flushed += 1


@pytest.mark.parametrize("broken", [None, "stdout", "stderr"])
def test_what_the_script_has_printed_is_written_before_the_rank_is_ended(
    broken: str | None, reporter: Reporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams = {name: Stream() for name in ("stdout", "stderr") if name != broken}
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, streams.get(name))
    with pytest.raises(Ended):
        _in(reporter, os.getpid()).end(RefusalError("one world", "another"))
    assert [stream.flushed for stream in streams.values()] == [1] * len(streams)


@pytest.mark.parametrize("above", [-1, 1])  # process ids begin anew after the last one
def test_a_child_that_is_made_a_rank_of_something_else_ends_the_guard_too(
    above: int, reporter: Reporter, variables: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []
    variables.setattr(world_check, "end_guard", ended.append)
    guard = os.getpid() + above
    _in(reporter, guard).before()
    variables.setenv("HOROVOD_SIZE", "2")
    _in(reporter, os.getpid()).refuse_inner()
    assert (ended, reporter.refusals) == ([], [])
    for by, agent_looks in ((MPIRUN, False), (AGENT, True)):
        with pytest.raises(Ended) as caught:
            _in(reporter, guard, PLACE._replace(by=by)).before()
        assert caught.value.args == (1,)
        assert reporter.agent_looks == agent_looks
    assert ended == [guard, guard]


# What Linux says of processes: number, name, state, parent, group.
ABOVE = {
    40: b"40 (python) S 70 9",
    70: b"70 (a ) (shell) S 20 9",
    20: b"20 (python) S 1 9",
    1: b"1 (init) S 0 1",
}


@pytest.mark.parametrize(
    ("guard", "ended"),
    [(40, [(40, 9)]), (70, [(70, 9)]), (20, [(20, 9)]), (10, []), (60, []), (80, [])],
)
def test_only_a_guard_above_the_process_is_ended(
    guard: int, ended: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[tuple[int, int]] = []

    def stat(path: str, mode: str) -> io.BytesIO:
        number = int(path.split("/")[2])
        if number not in ABOVE:
            raise FileNotFoundError(path)
        return io.BytesIO(ABOVE[number])

    monkeypatch.setattr(world_check, "open", stat, raising=False)
    monkeypatch.setattr(os, "getppid", lambda: 40)
    monkeypatch.setattr(os, "kill", lambda *what: killed.append(what))
    world_check.end_guard(guard)
    assert killed == ended


def test_a_guard_is_found_above_a_process_between(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[tuple[int, int]] = []
    guard = os.getppid()
    monkeypatch.setattr(os, "getppid", os.getpid)
    monkeypatch.setattr(os, "kill", lambda *what: killed.append(what))
    world_check.end_guard(guard)
    assert killed == [(guard, 9)]
