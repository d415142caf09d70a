from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from entrypoints.lib.data import position
from entrypoints.lib.data.blocks import share_blocks
from entrypoints.lib.data.division import DROP, PAD, UNEVEN, Division, RowGroups
from entrypoints.lib.data.parquet_place import Pictures, open_place
from entrypoints.lib.data.place_pictures import InStepReader
from entrypoints.lib.data.position import Epoch, Position, Stage, advanced
from entrypoints.lib.data.reader import Batch, PictureReader
from entrypoints.lib.errors import TrainingError

from .places_of_parquet import write_place

GROUPS = st.lists(st.integers(1, 9), min_size=1, max_size=8)
DIVISIONS = st.builds(
    Division,
    ranks=st.integers(1, 5),
    workers=st.integers(1, 3),
    batch_size=st.integers(1, 7),
    remainder=st.sampled_from([DROP, PAD, UNEVEN]),
    short_batches=st.booleans(),
    block_groups=st.integers(1, 4),
)


def rows_of_epoch(epoch: Epoch) -> tuple[list[int], list[int]]:
    """(rows, rows of repetitions) that all shares read in what is left of an epoch."""
    rows: list[int] = []
    again: list[int] = []
    for share in range(epoch.division.shares):
        for block in share_blocks(epoch, share):
            chosen = block.rows[block.order]
            rows += chosen[block.weights > 0].tolist()
            again += chosen[block.weights == 0].tolist()
    return rows, again


@given(rows=GROUPS, division=DIVISIONS, seed=st.integers(0, 99), number=st.integers(0, 9))
def test_an_epoch_has_each_sample_once_and_as_many_steps_on_every_rank(
    rows: list[int], division: Division, seed: int, number: int
) -> None:
    groups = RowGroups(np.array(rows))
    epoch = Epoch(groups, Position(seed, number), division)
    read, again = rows_of_epoch(epoch)
    assert len(set(read)) == len(read)
    assert set(read) <= set(range(groups.total))
    steps = [epoch.steps(rank) for rank in range(division.ranks)]
    if division.remainder == UNEVEN:
        assert max(steps) - min(steps) <= division.workers
        assert max(steps) == steps[0]
    else:
        assert len(set(steps)) == 1
    if division.short_batches:
        left = groups.total - len(read)
        assert left == (groups.total % division.shares if division.remainder == DROP else 0)
    missing = -groups.total % division.shares
    if division.remainder == PAD and division.short_batches:
        assert len(again) == missing
    elif division.remainder != PAD:
        assert not again


@given(
    rows=GROUPS,
    worlds=st.lists(st.tuples(DIVISIONS, st.integers(0, 6)), min_size=1, max_size=3),
    last=DIVISIONS,
)
def test_another_world_reads_exactly_the_samples_that_are_unread(
    rows: list[int], worlds: list[tuple[Division, int]], last: Division
) -> None:
    groups = RowGroups(np.array(rows))
    assume(all(world.rank_steps(groups.total, 0) for world, _ in worlds))
    where = Position(7, 1)
    read: list[int] = []
    for division, steps in worlds:
        epoch = Epoch(groups, where, division)
        assume(epoch.steps(0))  # else the epoch is at its end
        steps = min(steps, epoch.steps(0) - 1)
        for share in range(division.shares):
            own = [
                (int(row), float(weight))
                for block in share_blocks(epoch, share)
                for row, weight in zip(block.rows[block.order], block.weights, strict=True)
            ]
            before = division.delivered(len(epoch.left), share, epoch.steps_before)
            after = division.delivered(len(epoch.left), share, epoch.steps_before + steps)
            read += [row for row, weight in own[: after - before] if weight]
        where = advanced(groups, where, division, steps)
        assert position.from_json(json.loads(json.dumps(where.as_json()))) == where
    assert len(set(read)) == len(read)
    whole = Division(ranks=last.ranks, workers=last.workers, remainder=UNEVEN, block_groups=2)
    rest, _ = rows_of_epoch(Epoch(groups, where, whole))
    assert sorted(read + rest) == list(range(groups.total))
    rest, _ = rows_of_epoch(Epoch(groups, where, last))
    assert not set(rest) & set(read)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Pictures:
    return open_place(str(write_place(tmp_path_factory.mktemp("place"), [30, 11, 22], group=5)))


def numbers(batches: list[Batch]) -> list[int]:
    return [int(content) for batch in batches for content in batch.content]


def rank_batches(reader: PictureReader, epochs: int) -> list[Batch]:
    """A rank's batches in the order of its steps, as a DataLoader takes them from its workers."""
    streams = [reader.batches(worker, epochs=epochs) for worker in range(reader.division.workers)]
    found = []
    while streams:
        for stream in list(streams):
            batch = next(stream, None)
            if batch is None:
                streams.remove(stream)
            else:
                found.append(batch)
    return found


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("remainder", [DROP, PAD, UNEVEN])
@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_the_files_are_read_once_an_epoch_over_all_ranks(
    pictures: Pictures, ranks: int, remainder: str, workers: int
) -> None:
    division = Division(ranks, workers, 4, remainder, block_groups=3)
    found: list[int] = []
    for rank in range(ranks):
        reader = PictureReader(pictures, division, rank=rank, seed=5)
        batches = rank_batches(reader, epochs=1)
        assert len(batches) == reader.steps_per_epoch
        for batch in batches:
            assert [int(content) for content in batch.content] == batch.rows.tolist()
            assert (batch.labels == batch.rows % 2).all()
            found += batch.rows[batch.weights > 0].tolist()
    assert len(set(found)) == len(found)
    assert len(found) == 63 - (63 % (ranks * workers) if remainder == DROP else 0)


def test_the_order_is_repeatable_by_seed_and_another_in_each_epoch(pictures: Pictures) -> None:
    division = Division(batch_size=8, block_groups=4)
    once, again, other = (
        numbers(list(PictureReader(pictures, division, seed=seed).batches(epochs=2)))
        for seed in (1, 1, 2)
    )
    assert once == again != other
    assert once[:63] != once[63:]
    assert sorted(once[:63]) == sorted(once[63:]) == list(range(63))
    plain = Division(batch_size=8, shuffle=False)
    assert numbers(list(PictureReader(pictures, plain).batches(epochs=1))) == list(range(63))


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("steps", [0, 1, 3, 7, 8, 20])
def test_a_checkpoint_of_the_same_world_goes_on_with_the_very_next_sample(
    pictures: Pictures, steps: int, workers: int
) -> None:
    division = Division(2, workers, 3, DROP, block_groups=2)
    whole = PictureReader(pictures, division, rank=1, seed=9)
    read = [batch.rows.tolist() for batch in rank_batches(whole, epochs=3)]
    position_then = position.from_json(json.loads(json.dumps(whole.position(steps).as_json())))
    resumed = PictureReader(pictures, division, rank=1, start=position_then)
    assert [batch.rows.tolist() for batch in rank_batches(resumed, epochs=3)] == read[steps:]
    later = resumed.at(resumed.position(2))
    assert [batch.rows.tolist() for batch in rank_batches(later, epochs=3)] == read[steps + 2 :]


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_a_smaller_or_larger_world_goes_on_with_the_unread_samples(
    pictures: Pictures, ranks: int
) -> None:
    before = [
        PictureReader(pictures, Division(3, 1, 4, DROP, block_groups=2), rank=rank, seed=3)
        for rank in range(3)
    ]
    read = [row for one in before for batch in one.batches(steps=2) for row in batch.rows.tolist()]
    where = before[0].position(2)
    assert all(one.position(2) == where for one in before)
    for rank in range(ranks):
        reader = PictureReader(
            pictures, Division(ranks, 1, 4, UNEVEN, block_groups=2), rank=rank, start=where
        )
        batches = list(reader.batches(epochs=1))
        assert len(batches) == reader.steps_in_epoch(0)
        read += [row for batch in batches for row in batch.rows.tolist()]
    assert sorted(read) == list(range(63))


def test_a_reader_travels_to_a_worker_process(pictures: Pictures) -> None:
    reader = PictureReader(pictures, Division(1, 2, 4), seed=2)
    sent = pickle.loads(pickle.dumps(reader))
    assert numbers(list(sent.batches(1, epochs=1))) == numbers(list(reader.batches(1, epochs=1)))


def test_steps_end_it_in_the_midst_of_endless_epochs(pictures: Pictures) -> None:
    reader = PictureReader(pictures, Division(batch_size=10), seed=2)
    batches = list(reader.batches(steps=15))
    assert [len(batch.labels) for batch in batches] == [*[10] * 6, 3, *[10] * 6, 3, 10]
    assert [batch.epoch for batch in batches] == [*[0] * 7, *[1] * 7, 2]


@pytest.mark.parametrize("kind", [PictureReader, InStepReader])
@pytest.mark.parametrize("remainder", [DROP, PAD, UNEVEN])
@pytest.mark.parametrize("steps", [None, 0, 3, 6, 7, 13])
@pytest.mark.parametrize("at_once", [2, 100])
def test_several_batches_in_one_are_the_same_that_come_one_by_one(
    pictures: Pictures,
    kind: type[PictureReader],
    remainder: str,
    steps: int | None,
    at_once: int,
) -> None:
    division = Division(2, 1, 5, remainder, block_groups=3)
    for rank in range(2):
        whole = kind(pictures, division, rank=rank, seed=4)
        reader = whole.at(whole.position(2))
        single = list(reader.batches(epochs=3, steps=steps))
        several = list(reader.batches(epochs=3, steps=steps, at_once=at_once))
        assert bool(single) == (steps != 0)
        assert len(several) < len(single) or len(single) < 2
        for name in ("content", "labels", "weights"):
            apart = [column for one in single for column in getattr(one, name).tolist()]
            assert [value for one in several for value in getattr(one, name).tolist()] == apart
        assert all(len(one.labels) <= 5 * at_once for one in several)
        epochs = [one.epoch for one in several for _ in range(one.steps(5))]
        assert epochs == [one.epoch for one in single]


def test_a_checkpoint_of_other_data_is_refused(pictures: Pictures, tmp_path: Path) -> None:
    where = PictureReader(pictures, Division(batch_size=4)).position(1)
    other = open_place(str(write_place(tmp_path, [63], group=6)))
    with pytest.raises(TrainingError, match="row groups, and the checkpoint has read others"):
        PictureReader(other, Division(batch_size=4), start=where)


@pytest.mark.parametrize(
    ("division", "ahead_bytes", "message"),
    [
        (Division(64), 1 << 20, "63 pictures for 64 ranks x 1 workers"),
        (Division(32, 2), 1 << 20, "63 pictures for 32 ranks x 2 workers"),
        (Division(2, batch_size=32, short_batches=False), 1 << 20, "fill no batch of 32"),
        (Division(1), 10, "Allow more, or write smaller row groups"),
    ],
)
def test_what_cannot_be_divided_or_held_is_refused_before_training(
    pictures: Pictures, division: Division, ahead_bytes: int, message: str
) -> None:
    with pytest.raises(TrainingError, match=message):
        PictureReader(pictures, division, ahead_bytes=ahead_bytes)


def test_a_position_that_is_none_is_said_so() -> None:
    with pytest.raises(TrainingError, match="position in the data cannot be read"):
        position.from_json({"seed": 1, "epoch": 2})
    where = Position(1, 2, (Stage(Division(2), 3),), 10, 11)
    assert position.from_json(where.as_json()) == where
