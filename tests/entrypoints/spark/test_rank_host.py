"""Ranks' processes as they are in executors, with a driver's end over loopback and no Spark."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime.spark import rank_host
from launch_runtime.spark.rank_environment import Place
from launch_runtime.spark.rank_host import RankHost

from tests.entrypoints.spark.test_link import Driver
from tests.places import ENTRYPOINTS
from tests.waiting import SECONDS, until

PROGRAM = """\
import json, sys
from launch_runtime.spark import rank_host
place, payload = json.loads(sys.argv[1]), json.loads(sys.argv[2])
print(json.dumps(rank_host.run(rank_host.Place(*place), payload, sys.argv[3])))
"""
# Rank 0 raises once it may; rank 1 then says what it met, as one does whose peer is gone.
SCRIPT = """\
import os, signal, sys, time
rank = os.environ["HOROVOD_RANK"]
if rank == "1":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("the others are gone"))
print("ready", flush=True)
while rank == "1" or not os.path.exists("go"):
    time.sleep(0.02)
raise ValueError("a bad batch")
"""

# A signal to a rank of executor 3, the executor that is above it then, whether the worker of its
# task is; what the rank says, and whether another's loss may be the cause
ENDED = [
    (signal.SIGTERM, "3", True, "rank 1 was ended by SIGTERM from its executor", True),
    (signal.SIGTERM, "3", False, "rank 1 lost its task on executor 3", True),
    (signal.SIGTERM, "", False, "rank 1 lost executor 3", False),
    (signal.SIGHUP, "3", True, "rank 1 lost executor 3", False),
]


class Ranks:
    """Two of them, and the driver that they report to."""

    def __init__(self, folder: Path) -> None:
        self.driver = Driver()
        self.source = folder / "src"
        self.source.mkdir()
        (self.source / "train.py").write_text(SCRIPT)
        shutil.copy(ENTRYPOINTS / "guard.py", folder)
        (folder / "launch_runtime").symlink_to(ENTRYPOINTS / "launch_runtime")
        self._folder = folder
        self.processes = [self._start(rank) for rank in (0, 1)]

    def _start(self, rank: int) -> subprocess.Popen[str]:
        place = [rank, 2, 0, 1, ""]
        payload = {"contact": self.driver.reception.contact, "arguments": ["train.py"]}
        told = [json.dumps(place), json.dumps({**payload, "stamp": "0" * 16, "gpus": 0})]
        horovods = {"RANK": rank, "SIZE": 2, "LOCAL_RANK": 0, "LOCAL_SIZE": 1}
        horovods.update(CROSS_RANK=rank, CROSS_SIZE=2)
        environment = {
            **os.environ,
            "PYTHONPATH": str(ENTRYPOINTS),
            "LAUNCH_WORLD_SIZE": "2",
            "LAUNCH_INSTANCES": "2",
            "LAUNCH_PROCESSES": "1",
            "LAUNCH_INIT_WARNING_SECONDS": "0.1",
            **{f"HOROVOD_{name}": str(number) for name, number in horovods.items()},
        }
        command = [sys.executable, "-c", PROGRAM, *told, str(self._folder)]
        return subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
        )

    @property
    def output(self) -> str:
        """All that has reached the driver."""
        return b"".join(self.driver.taken).decode()

    def result(self, rank: int) -> dict[str, Any]:
        """What the rank gave in the end; blocks until then."""
        output, _ = self.processes[rank].communicate(timeout=SECONDS)
        found: dict[str, Any] = json.loads(output)
        return found


@pytest.mark.parametrize(("number", "executor", "worker", "reason", "consequence"), ENDED)
def test_a_rank_that_is_ended_with_its_executor_says_so_whatever_ends_it(
    number: int,
    executor: str,
    worker: bool,
    reason: str,
    consequence: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The executor above the rank: first as it starts, then as a signal comes.
    above = iter(["3", executor])
    monkeypatch.setattr(rank_host, "executor_id", lambda *process: next(above))
    contact = {"address": "127.0.0.1", "port": 1, "key": ""}
    payload = {"contact": contact, "arguments": [], "stamp": "", "gpus": 0}
    host = RankHost(Place(1, 2, 0, 1, ""), payload, "", ())
    monkeypatch.setattr(host, "_worker", SimpleNamespace(is_gone=not worker))
    failure = host._signalled(number)
    assert (failure.rank, failure.reason.partition(":")[0]) == (1, reason)
    assert failure.consequence is consequence


@pytest.fixture
def ranks(tmp_path: Path) -> Iterator[Ranks]:
    made = Ranks(tmp_path)
    yield made
    for process in made.processes:
        process.kill()  # its rank ends with it
        process.communicate()
    made.driver.reception.close()


@pytest.mark.processes
def test_ranks_that_never_join_are_warned_and_what_follows_a_failure_is_kept_apart(
    ranks: Ranks,
) -> None:
    until(lambda: ranks.output.count("launch: warning: no hvd.init()") == 2, "both warnings")
    until(lambda: ranks.output.count("ready") == 2, "both scripts")
    (ranks.source / "go").touch()
    first, second = ranks.result(0), ranks.result(1)

    for rank in (0, 1):
        warning = f"/agent] launch: warning: no hvd.init() in rank {rank} after 0.1 s; without it"
        assert ranks.output.count(warning) == 1
    assert first["failure"]["reason"] == "ValueError: a bad batch"
    assert first["unsaid"] == []
    assert ranks.output.endswith("ValueError: a bad batch\n")
    assert second["unsaid"][-1] == "the others are gone"
    assert "the others are gone" not in ranks.output
    assert ranks.driver.course.results == {0: first, 1: second}
