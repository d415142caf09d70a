from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from entrypoints.lib.data.in_memory import Images

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


def read(tensorflow: Any, **options: Any) -> list[list[int]]:
    from entrypoints.lib.data import batches

    dataset = batches.training_batches(tiny(), **options)
    return [labels.numpy().tolist() for _, labels in dataset]


def test_batches_have_the_images_that_belong_to_their_labels(tensorflow: Any) -> None:
    from entrypoints.lib.data import batches

    images = tiny()
    dataset = batches.training_batches(
        images, rank=1, world_size=2, batch_size=2, steps=3, seed=1, first_epoch=0, epochs=1
    )
    for pixels, labels in dataset:
        assert pixels.dtype == tensorflow.float32
        expected = images.training_images[labels.numpy()].astype(np.float32)
        assert np.array_equal(pixels.numpy(), expected)


def test_an_epoch_reads_the_ranks_shard_once_and_the_next_one_in_another_order(
    tensorflow: Any,
) -> None:
    options = {"world_size": 2, "batch_size": 2, "steps": 3, "seed": 1, "first_epoch": 0}
    both = [read(tensorflow, rank=rank, epochs=2, **options) for rank in (0, 1)]
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
    options = {"rank": 0, "world_size": 2, "batch_size": 2, "steps": 2, "seed": 5}
    whole = read(tensorflow, first_epoch=0, epochs=4, **options)
    assert read(tensorflow, first_epoch=3, epochs=4, **options) == whole[6:]
