"""What Horovod made of a rank, against what the rank was given: each of the four numbers counts."""

from __future__ import annotations

import os
from typing import Any

import pytest
from launch_runtime.rank import exit_hook
from launch_runtime.rank.identity import MPIRUN, Place, Promise
from launch_runtime.rank.refusal import RefusalError
from launch_runtime.rank.world_check import Given, WorldCheck
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

    def note_initialised(self) -> None:
        self.initialised = True

    def proof(self, text: str) -> None:
        self.proofs.append(text)

    def refuse(self, refusal: RefusalError) -> None:
        self.refusals.append(refusal)


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
