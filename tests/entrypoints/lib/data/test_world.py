from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest
from lib.data import world
from lib.errors import TrainingError

SIZES = ("LAUNCH_WORLD_SIZE", "WORLD_SIZE", "HOROVOD_SIZE", "OMPI_COMM_WORLD_SIZE")
LOCAL_SIZES = ("LOCAL_WORLD_SIZE", "HOROVOD_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE")


@pytest.fixture(autouse=True)
def nobody_has_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*SIZES, *LOCAL_SIZES):
        monkeypatch.delenv(name, raising=False)
    for name in ("torch.distributed", "horovod.torch", "horovod.tensorflow", "horovod.keras"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def joined(rank: int, size: int) -> SimpleNamespace:
    return SimpleNamespace(is_initialized=lambda: True, rank=lambda: rank, size=lambda: size)


def test_a_program_alone_is_the_one_rank() -> None:
    assert world.rank_and_world() == (0, 1)


def test_what_is_given_comes_before_what_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "horovod.torch", joined(3, 8))
    assert world.rank_and_world(1, 2) == (1, 2)


@pytest.mark.parametrize("module", ["horovod.torch", "horovod.tensorflow"])
def test_ranks_are_those_of_horovod(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, joined(3, 8))
    monkeypatch.setenv("LAUNCH_WORLD_SIZE", "8")
    assert world.rank_and_world() == (3, 8)


@pytest.mark.parametrize("name", SIZES)
def test_started_ranks_that_have_not_joined_are_refused(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "4")
    with pytest.raises(TrainingError, match=f"^{name} says 4 ranks, and this one has not joined"):
        world.rank_and_world()


@pytest.mark.parametrize(("rank", "size"), [(2, 2), (-1, 2), (0, 0)])
def test_a_rank_outside_of_its_world_is_refused(rank: int, size: int) -> None:
    with pytest.raises(TrainingError, match="expected 0 <= rank < world"):
        world.rank_and_world(rank, size)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="cores are counted by Linux")
@pytest.mark.parametrize("name", LOCAL_SIZES)
def test_ranks_and_workers_of_a_host_share_its_cores(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(24)))
    assert world.decoding_threads() == 24
    monkeypatch.setenv(name, "4")
    assert world.decoding_threads(2) == 3
    assert world.decoding_threads(12) == 1
