"""A host's own Dask cluster, which its first rank starts and which ends with it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import distributed
import pytest
from lib.data import dask_cluster
from lib.data.dask_connection import Connection

from tests.places import ENTRYPOINTS
from tests.waiting import processes_with, until

pytestmark = pytest.mark.processes

STARTER = f"""
import sys
sys.path.insert(0, {str(ENTRYPOINTS)!r})
from lib.data.dask_cluster import LocalCluster
cluster = LocalCluster(1)
print(cluster.address, flush=True)
sys.stdin.readline()
"""


@dataclass
class OneOf:
    """A rank of several as ``scheduler_for`` sees them; the others' part is played."""

    position: int = 0
    rank: int = 0
    others: list[Any] = field(default_factory=list)

    def together(self, attempt: Any) -> Any:
        return attempt()

    def gather(self, value: Any) -> list[Any]:
        return [value, *self.others]


def test_a_given_scheduler_is_taken_and_nothing_is_started() -> None:
    with dask_cluster.scheduler_for(OneOf(), "tcp://there:1") as address:
        assert address == "tcp://there:1"


def test_a_cluster_works_and_ends_with_who_started_it_also_when_killed() -> None:
    for killed in (False, True):
        with subprocess.Popen(
            [sys.executable, "-c", STARTER],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) as rank:  # fmt: skip
            assert rank.stdout is not None
            address = rank.stdout.readline().strip()
            connection = Connection(address)
            connection.wait_for_workers()
            assert connection.submit("data.dask_tasks", "parts_of", []).result(60) == ([], [])
            connection.close()
            if not killed:
                _keeps_what_a_picture_needed(address)
            ours = processes_with("dask_host.py")
            assert ours
            if killed:
                rank.kill()
            else:
                rank.communicate("\n")
        until(lambda left=ours: not (left.keys() & processes_with("dask_host.py").keys()))


def _keeps_what_a_picture_needed(address: str) -> None:
    """For the next one; a worker of Dask's own gives memory back from 64 KiB on."""
    with distributed.Client(address, set_as_default=False) as client:
        (known,) = client.run(lambda: dict(os.environ)).values()
    assert known["MALLOC_TRIM_THRESHOLD_"] == str(64 << 20)
    assert known["MALLOC_MMAP_THRESHOLD_"] == str(32 << 20)


def test_the_ranks_of_a_host_get_the_address_of_its_first_rank() -> None:
    hosts = [("a", 0, "A"), ("a", 1, None), ("b", 0, "B"), ("b", 1, None)]
    assert [dask_cluster._of_host(hosts, rank) for rank in range(4)] == ["A", "A", "B", "B"]
    same_name = [("x", 0, "A"), ("x", 1, None), ("x", 0, "B"), ("x", 1, None)]
    assert [dask_cluster._of_host(same_name, rank) for rank in range(4)] == ["A", "A", "B", "B"]
    by_node = [("a", 0, "A"), ("b", 0, "B"), ("a", 1, None), ("b", 1, None)]
    assert [dask_cluster._of_host(by_node, rank) for rank in range(4)] == ["A", "B", "A", "B"]
