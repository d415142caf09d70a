"""What a rank was given, against what the job definition promises."""

from __future__ import annotations

import pytest
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
    [("2", "4", False), ("2", "3", True), ("", "3", False), ("2", "", False), ("3", "4", True)],
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
