"""What a rank was given, against what the job definition promises."""

from __future__ import annotations

from pathlib import Path

import pytest
from launch_runtime.environment import SettingError
from launch_runtime.rank import identity
from launch_runtime.rank.identity import AGENT, HOROVODRUN, MPIRUN, NOBODY, Place, Promise
from launch_runtime.rank.refusal import RefusalError

PROMISE = Promise(8, 2, 4)
PLACE = Place(8, 5, 4, 1, "host-2", AGENT)


def test_the_promised_place_passes() -> None:
    identity.check(PROMISE, PLACE, {})
    identity.check(Promise(8, 0, 0), PLACE._replace(local_size=8), {})


@pytest.mark.parametrize("size", [1, 4, 7, 9, 16])
def test_any_other_world_size_is_refused(size: int) -> None:
    with pytest.raises(RefusalError, match=f"world size {size} "):
        identity.check(PROMISE, PLACE._replace(size=size), {})


@pytest.mark.parametrize("ranks", [1, 3, 5, 8])
def test_fewer_and_more_ranks_on_a_host_than_promised_are_refused(ranks: int) -> None:
    with pytest.raises(RefusalError, match="were not spread over the hosts"):
        identity.check(PROMISE, PLACE._replace(local_size=ranks), {})


def _variables(form: str, *values: int) -> dict[str, str]:
    names = ("SIZE", "RANK", "LOCAL_SIZE", "LOCAL_RANK")
    return {form + name: str(value) for name, value in zip(names, values, strict=True)}


@pytest.mark.parametrize(
    ("environment", "has_agent", "expected"),
    [
        (_variables("HOROVOD_", 8, 5, 4, 1) | {"LAUNCH_HOST": "h"}, True, (8, 5, 4, 1, "h", AGENT)),
        (_variables("OMPI_COMM_WORLD_", 8, 5, 4, 1), False, (8, 5, 4, 1, None, MPIRUN)),
        (_variables("HOROVOD_", 2, 1, 1, 0), False, (2, 1, 1, 0, None, HOROVODRUN)),
        ({"HOROVOD_SIZE": "2", "HOROVOD_HOSTNAME": "x"}, False, (2, 0, 1, 0, "x", HOROVODRUN)),
        ({"HOROVOD_RANK": "3"}, False, (1, 0, 1, 0, None, NOBODY)),
        ({"HOROVOD_RANK": "3", "LAUNCH_HOST": "h"}, True, (1, 3, 1, 0, "h", AGENT)),
        ({}, False, (1, 0, 1, 0, None, NOBODY)),
    ],
)
def test_who_started_a_rank_says_its_place(environment, has_agent, expected) -> None:
    found = identity.given(environment, has_agent)
    size, rank, local_size, local_rank, host, by = expected
    assert found[:4] == (size, rank, local_size, local_rank)
    assert found.by == by
    assert host in (None, found.host)


@pytest.mark.parametrize(
    ("hosts", "processes", "refused"),
    [
        ("2", "4", False),
        ("2", "3", True),
        ("", "3", False),
        ("2", "", False),
        ("3", "4", True),
        ("1", "4", True),  # a multiple is right for replicas alone
    ],
)
def test_a_promise_that_contradicts_itself_is_refused(hosts, processes, refused) -> None:
    environment = {
        "LAUNCH_WORLD_SIZE": "8",
        **({"LAUNCH_INSTANCES": hosts} if hosts else {}),
        **({"LAUNCH_PROCESSES": processes} if processes else {}),
    }
    if refused:
        with pytest.raises(RefusalError, match="contradicts itself"):
            identity.promised(environment)
    else:
        assert identity.promised(environment) == (8, int(hosts or 0), int(processes or 0))


@pytest.mark.parametrize(
    ("size", "refused"), [("8", False), ("16", False), ("12", True), ("4", True)]
)
def test_replicas_are_the_same_number_in_each_process(size: str, refused: bool) -> None:
    environment = {
        "LAUNCH_WORLD_SIZE": size, "LAUNCH_INSTANCES": "2", "LAUNCH_PROCESSES": "4",
    }  # fmt: skip
    if refused:
        with pytest.raises(RefusalError, match=f"{size} and 2 x 4"):
            identity.promised(environment, replicated=True)
    else:
        assert identity.promised(environment, replicated=True).ranks == 8


@pytest.mark.parametrize(
    ("promise", "words"),
    [
        (Promise(8, 2, 4), "world size 8 (2 hosts x 4 ranks)"),
        (Promise(2, 2, 1), "world size 2 (2 hosts x 1 rank)"),
        (Promise(16, 2, 4), "world size 16 (2 hosts x 8 replicas)"),
        (Promise(8, 0, 4), "world size 8"),
        (Promise(8, 2, 0), "world size 8"),
    ],
)
def test_a_promise_says_how_the_hosts_share_it(promise: Promise, words: str) -> None:
    assert str(promise) == words


@pytest.mark.parametrize(
    ("environment", "cause"),
    [({}, "did not hand"), ({"OMPI_COMM_WORLD_SIZE": "2"}, "the variables that -x names")],
)
def test_a_rank_that_was_promised_nothing_says_who_kept_it_back(
    environment: dict[str, str], cause: str
) -> None:
    with pytest.raises(RefusalError, match=cause):
        identity.promised(environment)


@pytest.mark.parametrize(
    ("place", "environment", "words"),
    [
        ((1, NOBODY), {}, "start it with launch, mpirun or horovodrun"),
        ((1, NOBODY), {"SM_HOSTS": "[]"}, "sagemaker_mpi_enabled must be true"),
        (
            (4, MPIRUN),
            {},
            "the number of ranks per host was passed as the number of all ranks; start 8 ranks",
        ),
        ((5, MPIRUN), {"SM_HOSTS": "[]"}, "a hyperparameter overrides the number of ranks"),
        ((5, MPIRUN), {}, "mpirun started another number of ranks"),
        ((5, HOROVODRUN), {"SM_HOSTS": "[]"}, "horovodrun started another number of ranks"),
        ((3, HOROVODRUN), {}, "horovodrun started another number of ranks"),
    ],
)
def test_another_world_size_is_explained_by_who_started_the_rank(
    place: tuple[int, str], environment: dict[str, str], words: str
) -> None:
    size, by = place
    with pytest.raises(RefusalError) as caught:
        identity.check(PROMISE, PLACE._replace(size=size, by=by), environment)
    assert words in f"{caught.value.cause}; {caught.value.fix}"


def test_where_no_number_of_hosts_is_promised_the_ranks_of_a_host_are_no_explanation() -> None:
    with pytest.raises(RefusalError, match="started another number of ranks"):
        identity.check(Promise(8, 0, 4), Place(4, 0, 4, 0, "h", MPIRUN), {})


def test_how_spark_spreads_its_executors_is_not_compared() -> None:
    spread = PLACE._replace(local_size=8)
    identity.check(PROMISE, spread, {identity.SPREAD: identity.REPORTED})
    with pytest.raises(RefusalError):
        identity.check(PROMISE, spread, {identity.SPREAD: "another word"})


def test_a_place_that_is_no_number_is_named() -> None:
    with pytest.raises(SettingError, match=r"HOROVOD_RANK: found 'x'; expected a whole number"):
        identity.given({"HOROVOD_SIZE": "2", "HOROVOD_RANK": "x"}, has_agent=False)


def test_the_agent_says_a_seat_by_four_numbers() -> None:
    environment = {identity.SEAT: "8 5 4 1", "LAUNCH_HOST": "host-2"}
    assert identity.from_agent(environment) == PLACE


@pytest.mark.parametrize("seat", ["", "8 5 4", "8 5 4 1 0", "8 5 4 x", "8 5 4 -1"])
def test_a_seat_that_is_not_four_numbers_is_refused(seat: str) -> None:
    with pytest.raises(SettingError, match=f"found '{seat}'; expected four numbers"):
        identity.from_agent({identity.SEAT: seat})


def test_on_sagemaker_a_host_has_the_services_name_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "resourceconfig.json"
    monkeypatch.setattr(identity, "_SAGEMAKER_HOST_FILE", str(file))
    file.write_text('{"current_host": "algo-1"}')
    assert identity.nobody() == (1, 0, 1, 0, "algo-1", NOBODY)
    file.write_text("{}")
    assert identity.nobody().host != "algo-1"
