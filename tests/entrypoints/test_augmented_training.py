"""Ranks that train on two hosts, while Dask's workers on other hosts augment their pictures."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.entrypoints.lib.data.dask_processes import Dask, environment_of_ranks
from tests.entrypoints.lib.data.places_of_parquet import write_file
from tests.entrypoints.namespaces import Network, network
from tests.entrypoints.simulated import SimulatedJob
from tests.entrypoints.test_training_data import counted, steps_of
from tests.keras_2 import LEGACY_KERAS
from tests.waiting import until

pytestmark = pytest.mark.horovod

LOGGED = Path(__file__).with_name("logged_training.py")
SECONDS = 240.0
CLASSES, ROWS, EPOCHS, BATCH = 3, 61, 12, 4
STEPS = 8  # of a rank in an epoch: 31 or 30 pictures
RANKS, SCHEDULER, OTHER = (0, 1), 2, 3  # hosts


def plain(number: int) -> bytes:
    """A PNG of one colour, which says its number however it is cropped and flipped."""
    from PIL import Image

    made = io.BytesIO()
    colour = (number % 256, number // 256, 80 * (number % CLASSES))
    Image.new("RGB", (12, 12), colour).save(made, "PNG")
    return made.getvalue()


def write_place(root: Path) -> Path:
    """train/ and test/ without a manifest; a picture's class is its blue."""
    for split, rows in (("train", ROWS), ("test", 9)):
        labels = [number % CLASSES for number in range(rows)]
        content = [plain(number) for number in range(rows)]
        write_file(root / split / "part-0.parquet", labels, content, 7)
    return root


class Training:
    """Two hosts of one rank each, and between them a scheduler and workers on two more hosts."""

    def __init__(self, job: SimulatedJob, net: Network, dask: Dask, place: Path):
        self.job, self.net, self.dask = job, net, dask
        job.before = net.inside
        job.script(f"import runpy\nrunpy.run_path({str(LOGGED)!r}, run_name='__main__')\n")
        self._arguments = [
            *("--data", f"augment:{place}", "--augment", "crop,flip", "--remainder", "uneven"),
            *("--model", "mlp", "--epochs", str(EPOCHS), "--batch-size", str(BATCH)),
        ]

    def start(self) -> None:
        hosts = [{"name": f"host-{n + 1}", "address": self.net.address(n)} for n in RANKS]
        for index in RANKS:
            cluster = json.dumps({"hosts": hosts, "index": index, "port": self.job.port})
            scheduler = ["--scheduler", self.dask.address]
            self.job.start(index, *self._arguments, *scheduler, LAUNCH_CLUSTER=cluster)

    def steps(self) -> list[list[list[tuple[int, float]]]]:
        return [steps_of(self.job.source, rank) for rank in RANKS]


@pytest.fixture
def training(make_job: Callable[..., SimulatedJob], tmp_path: Path) -> Any:
    own = {"PYTHONPATH": "", "TF_CPP_MIN_LOG_LEVEL": "3", LEGACY_KERAS: "1"}
    job = make_job(hosts=2, **own, **environment_of_ranks())
    (tmp_path / "dask").mkdir()
    dask = Dask(tmp_path / "dask")
    with network(4) as net:
        try:
            dask.start_scheduler(net.address(SCHEDULER), before=net.inside(SCHEDULER))
            for host in (SCHEDULER, OTHER):
                dask.start_worker(f"on-{host}", before=net.inside(host))
            yield Training(job, net, dask, write_place(tmp_path / "place"))
        finally:
            dask.close()


def test_two_hosts_train_on_each_picture_once_an_epoch_though_a_worker_is_killed(
    training: Training,
) -> None:
    training.start()
    samples = training.job.source / "samples-1.txt"
    until(lambda: samples.exists() and samples.stat().st_size, "a step", SECONDS)
    training.dask.kill(f"on-{OTHER}")
    assert training.job.agents[1].poll() is None, "killed in the midst of it"
    assert training.job.wait(SECONDS) == [0, 0], training.job.text()
    assert training.job.said(r"proof: world size 2: 2 hosts x 1 rank")
    steps = training.steps()
    assert [len(rank) for rank in steps] == [STEPS * EPOCHS] * 2
    for begin in range(0, STEPS * EPOCHS, STEPS):
        epoch = [rank[begin : begin + STEPS] for rank in steps]
        assert counted(*epoch) == Counter(range(ROWS))
