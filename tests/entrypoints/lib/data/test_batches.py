"""What a rank's course through numbered samples gives: in memory, whole or from within an epoch."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from entrypoints.lib.data.dataset import Part
from entrypoints.lib.data.in_memory import Images
from entrypoints.lib.errors import TrainingError

pytestmark = pytest.mark.horovod


def tiny(count: int = 10) -> Images:
    images = np.arange(count * 16, dtype=np.uint8).reshape(count, 4, 4, 1)
    return Images(
        name="digits",
        origin="a test",
        training_images=images,
        training_labels=np.arange(count, dtype=np.int64),
        test_images=images[:3],
        test_labels=np.arange(3, dtype=np.int64),
        classes=count,
        brightest=255,
    )


def part(rank: int = 0, world_size: int = 2, **more: Any) -> Part:
    return Part(**{"rank": rank, "world_size": world_size, "batch_size": 2, "seed": 1, **more})


def read(dataset: Any) -> list[list[int]]:
    return [batch[1].numpy().tolist() for batch in dataset]


def test_batches_have_the_images_that_belong_to_their_labels(tensorflow: Any) -> None:
    images = tiny()
    for pixels, labels in images.course(part(1), None).batches(1):
        assert pixels.dtype == tensorflow.float32
        expected = images.training_images[labels.numpy()].astype(np.float32)
        assert np.array_equal(pixels.numpy(), expected)


def test_images_are_brought_to_the_size_that_is_asked_for(tensorflow: Any) -> None:
    images = tiny().resized((6, 5))
    assert images.shape == (5, 6, 1)
    ((pixels, _), *_) = images.course(part(), None).batches(1)
    assert pixels.shape == (2, 5, 6, 1)
    (pixels, _) = next(iter(images.test_batches(0, 1, 8)))
    assert pixels.shape == (3, 5, 6, 1)


def test_an_epoch_reads_the_ranks_shard_once_and_the_next_one_in_another_order(
    tensorflow: Any,
) -> None:
    both = [read(tiny().course(part(rank), None).batches(2)) for rank in (0, 1)]
    assert [[len(batch) for batch in rank] for rank in both] == [[2, 2, 1, 2, 2, 1]] * 2
    epochs = [
        [number for rank in both for batch in rank[at : at + 3] for number in batch]
        for at in (0, 3)
    ]
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(10))
    assert epochs[0] != epochs[1]


def test_a_start_in_a_later_epoch_reads_what_an_uninterrupted_run_reads_there(
    tensorflow: Any,
) -> None:
    course = tiny().course(part(seed=5, max_steps=2), None)
    whole = read(course.batches(4))
    assert read(course.batches(1, first=3)) == whole[6:]
    for start in (course.state(3, 0), {"epoch": 3}):
        assert read(tiny().course(part(seed=5, max_steps=2), start).batches(1)) == whole[6:]


@pytest.mark.parametrize("remainder", ["drop", "pad", "uneven"])
@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
def test_another_world_goes_on_with_what_is_unread(
    tensorflow: Any, remainder: str, world_size: int
) -> None:
    """Three ranks stop after one step of 23 samples; others read the other 17."""

    def weighted(batches: Any) -> list[tuple[int, float]]:
        found = []
        for _, labels, *weights in batches:
            counts = weights[0].numpy() if weights else np.ones(len(labels))
            found += list(zip(labels.numpy().tolist(), counts.tolist(), strict=True))
        return found

    data = tiny(23)
    before = [data.course(part(rank, 3, remainder=remainder), None) for rank in range(3)]
    read_by_them = [n for course in before for n, _ in weighted(course.batches(1).take(1))]
    assert len(set(read_by_them)) == 6
    after = [
        data.course(part(rank, world_size, remainder=remainder), before[0].state(0, 1))
        for rank in range(world_size)
    ]
    steps = {len(list(course.batches(1))) for course in after}
    assert steps == {after[0].first_steps}
    counts = [pair for course in after for pair in weighted(course.batches(1))]
    times = Counter(n for n, weight in counts if weight > 0)
    assert set(times.values()) == {1}
    unread = set(range(23)) - set(read_by_them)
    assert set(times) <= unread
    assert len(unread) - len(times) == (17 % world_size if remainder == "drop" else 0)
    # Each step's mean over the ranks of the means over their batches is that of its samples.
    if remainder != "drop":
        means = [np.mean([w.numpy().mean() for *_, w in step]) for step in zip(
            *(course.batches(1) for course in after), strict=True)]  # fmt: skip
        assert means == pytest.approx([1.0] * len(means))


def test_a_position_in_other_data_is_refused(tensorflow: Any) -> None:
    state = tiny(10).course(part(), None).state(0, 1)
    with pytest.raises(
        TrainingError, match="within an epoch of 10 training images, and here are 9"
    ):
        tiny(9).course(part(), state)
    assert tiny(9).course(part(), tiny(10).course(part(), None).state(2, 0)).first_steps == 2


@pytest.mark.parametrize("remainder", ["drop", "uneven"])
@pytest.mark.parametrize("size", [None, (6, 3)])
def test_without_tensorflow_the_same_samples_come_in_the_same_order_with_the_same_pixels(
    tensorflow: Any, remainder: str, size: tuple[int, int] | None
) -> None:
    images = tiny(23).resized(size)
    course = images.course(part(1, 3, remainder=remainder), None)
    expected = [[each.numpy() for each in batch] for batch in course.batches(2, first=1)]
    found = list(course.arrays(2, first=1))
    assert len(found) == len(expected) > 4
    for ours, theirs in zip(found, expected, strict=True):
        for mine, other in zip(ours, theirs, strict=True):
            assert mine.dtype == other.dtype
            np.testing.assert_allclose(mine, other, rtol=1e-5)
    tests = [labels.tolist() for _, labels in images.test_arrays(1, 2, 8)]
    assert tests == read(images.test_batches(1, 2, 8))
