"""Batches that Dask's workers make for a rank: a real scheduler and workers, as processes."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lib.arguments import parse
from lib.data.dask_augmentation import Augmentation, AugmentedReader
from lib.data.dask_connection import Connection, version_problem
from lib.data.dask_tasks import parts_of, picture
from lib.data.dataset import Part
from lib.data.division import Division
from lib.data.parquet_place import open_place
from lib.data.reader import PictureReader
from lib.data.sources import load
from lib.errors import TrainingError
from PIL import Image

from tests.entrypoints import numbered_pictures
from tests.entrypoints.lib.data.dask_processes import Dask
from tests.entrypoints.lib.data.places_of_parquet import write_place
from tests.entrypoints.namespaces import network
from tests.waiting import until

pytestmark = pytest.mark.processes

ROWS = 96
HOW = Augmentation((8, 6), augment=("crop", "flip", "rotate", "color"), seed=5)
PROGRAM = Path(__file__).with_name("dask_rank.py")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    """96 pictures, each another one, in two files of row groups of 8."""
    random = np.random.RandomState(1)
    content = []
    for _ in range(ROWS):
        made = io.BytesIO()
        Image.fromarray(random.randint(0, 256, (12, 16, 3)).astype(np.uint8)).save(made, "PNG")
        content.append(made.getvalue())
    root = tmp_path_factory.mktemp("data") / "place"
    return str(write_place(root, [ROWS // 2, ROWS // 2], 8, 3, content))


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dask]:
    """A scheduler and one worker, "first", that stays."""
    started = Dask(tmp_path_factory.mktemp("dask"))
    try:
        started.start_scheduler()
        started.start_worker("first")
        yield started
    finally:
        started.close()


@pytest.fixture
def own_dask(tmp_path: Path) -> Iterator[Dask]:
    """A scheduler of this test's own."""
    started = Dask(tmp_path)
    try:
        started.start_scheduler()
        yield started
    finally:
        started.close()


def reader(place: str, rank: int = 0, ranks: int = 1, **how: Any) -> PictureReader:
    division = Division(ranks=ranks, batch_size=8, block_groups=3, remainder="uneven")
    return PictureReader(open_place(place), division, rank=rank, seed=3, **how)


def expected(place: str, of: PictureReader, epochs: int) -> list[tuple[Any, Any, Any]]:
    """(rows, labels, images) of the batches, made here."""
    made = []
    for batch in of.batches(epochs=epochs):
        how = {
            "size": HOW.size, "fit": HOW.fit, "channels": 3, "augment": HOW.augment,
            "seed": HOW.seed, "epoch": batch.epoch,
        }  # fmt: skip
        images = [
            picture(one, int(row), how) for one, row in zip(batch.content, batch.rows, strict=True)
        ]
        made.append((batch.rows, batch.labels, np.stack(images)))
    return made


def same(found: list[Any], wanted: list[tuple[Any, Any, Any]]) -> bool:
    return len(found) == len(wanted) and all(
        np.array_equal(one.rows, rows)
        and np.array_equal(one.labels, labels)
        and np.array_equal(one.images, images)
        for one, (rows, labels, images) in zip(found, wanted, strict=True)
    )


def test_batches_are_what_the_reader_would_give_augmented_in_both_epochs(
    dask: Dask, place: str
) -> None:
    augmented = AugmentedReader(reader(place), dask.address, HOW, read_ahead=4)
    found = list(augmented.batches(epochs=2))
    assert same(found, expected(place, reader(place), 2))
    epochs = [found[:12], found[12:]]
    by_row = [np.argsort(np.concatenate([batch.rows for batch in of])) for of in epochs]
    first, second = (
        np.concatenate([batch.images for batch in of])[order]
        for of, order in zip(epochs, by_row, strict=True)
    )
    assert not np.array_equal(first, second), "another epoch, other crops"


def test_without_tensorflow_a_data_set_gives_the_same_as_arrays(dask: Dask, tmp_path: Path) -> None:
    place = str(numbered_pictures.write_parquet(tmp_path / "place", 30, 6))
    words = ["--data", f"augment:{place}", "--scheduler", dask.address, "--image-size", "8x6"]
    settings = parse([*words, "--augment", "crop,flip"])
    data = load(settings, arrays=True)
    part = Part(0, 1, 8, 3, "uneven")
    course = data.course(part, None)

    found = [one for epoch in range(2) for one in course.arrays(1, epoch)]

    how = Augmentation((8, 6), augment=("crop", "flip"), fit="stretch", seed=settings.seed)
    division = part.division(block_groups=settings.shuffle_groups)
    rows = PictureReader(open_place(place), division, seed=3)
    wanted = list(AugmentedReader(rows, dask.address, how).batches(epochs=2))
    assert len(found) == len(wanted) == 8
    for (images, labels, _), one in zip(found, wanted, strict=True):
        assert np.array_equal(images, one.images)
        assert np.array_equal(labels, one.labels)
    assert np.concatenate([weights for _, _, weights in found]).sum() == pytest.approx(60, rel=0.1)
    assert sum(len(labels) for _, labels in data.test_arrays(0, 1, 8)) == data.test_count == 6


def test_no_more_than_the_bound_is_ever_ahead_also_while_nothing_is_taken(
    dask: Dask, place: str
) -> None:
    augmented = AugmentedReader(reader(place), dask.address, HOW, read_ahead=3)
    batches = augmented.batches()
    next(batches)
    with dask.watched() as tasks:
        until(lambda: not tasks(), "all that is ahead to be here")
        for _ in range(20):
            next(batches)
            assert tasks() <= 3
        assert augmented.most == 3
        batches.close()
        until(lambda: not tasks(), "the end of all tasks")


def test_a_run_goes_on_at_the_very_sample_with_another_number_of_ranks(
    dask: Dask, place: str
) -> None:
    whole = reader(place)
    augmented = AugmentedReader(whole, dask.address, HOW)
    seen = [row for batch in augmented.batches(steps=5) for row in batch.rows]
    position = whole.position(5)
    for rank in range(2):
        rest = AugmentedReader(reader(place, rank, 2, start=position), dask.address, HOW)
        seen += [row for batch in rest.batches(epochs=1) for row in batch.rows]
    assert sorted(seen) == list(range(ROWS))


def test_two_ranks_read_each_sample_once_though_a_worker_is_killed_in_the_midst(
    own_dask: Dask, place: str
) -> None:
    for name in ("one", "two"):
        own_dask.start_worker(name)
    iterators, found = [], []
    for rank in range(2):
        augmented = AugmentedReader(
            reader(place, rank, 2), own_dask.address, HOW, read_ahead=4, no_worker_seconds=60
        )
        iterators.append(augmented.batches(epochs=3))
        found.append([next(iterators[-1])])
    own_dask.kill("one")
    for rank in range(2):
        found[rank] += list(iterators[rank])
        assert same(found[rank], expected(place, reader(place, rank, 2), 3))
    rows = [[row for b in found[rank] if b.epoch == 2 for row in b.rows] for rank in range(2)]
    assert sorted(rows[0] + rows[1]) == list(range(ROWS))


def test_a_scheduler_that_comes_back_makes_no_difference_and_one_that_does_not_is_one_line(
    own_dask: Dask, place: str
) -> None:
    own_dask.start_worker("one")
    augmented = AugmentedReader(
        reader(place), own_dask.address, HOW, read_ahead=2, no_worker_seconds=30
    )
    batches = augmented.batches(epochs=2)
    found = [next(batches)]
    port = int(own_dask.address.rpartition(":")[2])
    for name in ("one", "scheduler"):
        own_dask.kill(name)
    own_dask.start_scheduler(port=port)
    own_dask.start_worker("again")
    found += list(batches)
    assert same(found, expected(place, reader(place), 2))
    impatient = AugmentedReader(
        reader(place), own_dask.address, HOW, read_ahead=2, no_worker_seconds=2
    )
    batches = impatient.batches()
    next(batches)
    own_dask.kill("again")
    with pytest.raises(TrainingError, match="no worker for 2 s"):
        list(batches)
    own_dask.start_worker("third")
    with contextlib.closing(Connection(own_dask.address)) as connection:
        connection.wait_for_workers(120)
    batches = impatient.batches()
    next(batches)
    own_dask.kill("scheduler")
    with pytest.raises(TrainingError, match="the scheduler was lost and did not come back in 2 s"):
        list(batches)


def test_a_scheduler_that_is_not_there_and_an_address_that_is_none_are_one_line() -> None:
    with pytest.raises(TrainingError, match=r"tcp://127\.0\.0\.1:1: no Dask scheduler answers"):
        Connection("tcp://127.0.0.1:1", connect_seconds=1)
    for text in ("", "nonsense", "foo://bar:1", "tcp://bar", "http://bar:8787"):
        with pytest.raises(TrainingError, match="expected tcp://HOST:PORT"):
            Connection(text)


def test_a_worker_without_pillow_is_told_of_before_training(own_dask: Dask, place: str) -> None:
    own_dask.start_worker("bare", preload="import sys\nsys.modules['PIL'] = None\n")
    with pytest.raises(TrainingError, match=r"worker tcp://.* cannot work: .*pip install .*Pillow"):
        AugmentedReader(reader(place), own_dask.address, HOW)


def test_a_worker_that_does_not_see_the_place_is_told_of_before_training(
    dask: Dask, place: str, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "moved"
    os.rename(Path(place), elsewhere)
    opened = reader(str(elsewhere))
    os.rename(elsewhere, Path(place))
    with pytest.raises(TrainingError, match=f"cannot work: it cannot read {elsewhere}"):
        AugmentedReader(opened, dask.address, HOW)


def test_a_picture_that_cannot_be_decoded_is_named(dask: Dask, tmp_path: Path) -> None:
    place = write_place(tmp_path / "place", [16], 4)
    batches = AugmentedReader(reader(str(place)), dask.address, HOW).batches()
    with pytest.raises(TrainingError, match=r"train/part-00000.parquet, row group \d, row \d: "):
        next(batches)


def test_other_versions_are_told_of() -> None:
    def about(python: str = "3.11.7.final.0", dask: str = "2026.8.0") -> dict[str, Any]:
        return {"host": {"python": python}, "packages": {"dask": dask, "distributed": "2026.8.0"}}

    assert not version_problem(about(), about(), {"tcp://a:1": about("3.11.2.final.0")})
    assert "the scheduler has dask 2024.1.0, this process 2026.8.0" in version_problem(
        about(), about(dask="2024.1.0"), {}
    )
    assert "the worker tcp://a:1 has Python 3.10, this process 3.11" in version_problem(
        about(), about(), {"tcp://a:1": about("3.10.1.final.0")}
    )


def test_rows_are_grouped_by_row_group_and_come_back_in_order() -> None:
    rows = [("a", 0, 3), ("b", 1, 0), ("a", 0, 1), ("a", 0, 3)]
    parts, order = parts_of(rows)
    flat = [(file, group, row) for file, group, of_group in parts for row in of_group]
    assert [flat[place] for place in order] == rows


def test_workers_of_other_hosts_serve_a_rank_and_one_that_is_cut_off_changes_nothing(
    place: str, tmp_path: Path
) -> None:
    with network(3) as net:
        dask = Dask(tmp_path)
        try:
            dask.start_scheduler(net.address(0), before=net.inside(0))
            for host in (1, 2):
                dask.start_worker(f"on-{host}", before=net.inside(host))
            with subprocess.Popen(
                [*net.inside(0), sys.executable, str(PROGRAM), dask.address, place, "2"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            ) as rank:  # fmt: skip
                assert rank.stdout is not None
                assert rank.stdin is not None
                first = json.loads(rank.stdout.readline())
                net.cut(0, 1)  # one worker is silent from now on
                rank.stdin.write("go\n")
                rank.stdin.close()
                lines = [json.loads(line) for line in rank.stdout]
            rows = [row for line in [first, *lines] for row in line["rows"]]
            assert sorted(rows) == sorted([*range(ROWS)] * 2)
            sums = [line["sum"] for line in [first, *lines]]
            assert sums == [int(images.sum()) for _, _, images in expected(place, reader(place), 2)]
        finally:
            dask.close()


def test_a_rank_that_is_killed_leaves_nothing_at_the_scheduler(dask: Dask, place: str) -> None:
    with subprocess.Popen(
        [sys.executable, str(PROGRAM), dask.address, place, "1000"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as rank:  # fmt: skip
        assert rank.stdout is not None
        rank.stdout.readline()
        with dask.watched("launch") as tasks:  # the code, too
            assert tasks()
            rank.kill()
            until(lambda: not tasks(), "the end of its tasks")
