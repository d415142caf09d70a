from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from entrypoints.lib.data import shards

SAMPLES = st.integers(min_value=0, max_value=400)
WORLD_SIZE = st.integers(min_value=1, max_value=40)
SEED = st.integers(min_value=0, max_value=2**32 - 1)


@given(samples=SAMPLES, world_size=WORLD_SIZE, seed=SEED, epoch=st.integers(0, 1000))
def test_training_shards_are_equally_long_disjoint_and_lose_less_than_the_world_size(
    samples: int, world_size: int, seed: int, epoch: int
) -> None:
    order = shards.epoch_order(samples, seed, epoch)
    each = [shards.training_shard(order, rank, world_size) for rank in range(world_size)]
    assert {len(shard) for shard in each} == {shards.samples_per_rank(samples, world_size)}
    read = np.concatenate(each)
    assert len(set(read.tolist())) == len(read)
    assert set(read.tolist()) <= set(range(samples))
    assert samples - len(read) < world_size


@given(samples=SAMPLES, world_size=WORLD_SIZE)
def test_evaluation_shards_have_every_sample_exactly_once(samples: int, world_size: int) -> None:
    each = [shards.evaluation_shard(samples, rank, world_size) for rank in range(world_size)]
    assert sorted(np.concatenate(each).tolist()) == list(range(samples))
    lengths = [len(shard) for shard in each]
    assert max(lengths) - min(lengths) <= 1


@given(
    samples=SAMPLES,
    world_size=WORLD_SIZE,
    batch_size=st.integers(1, 64),
    at_most=st.none() | st.integers(1, 10),
)
def test_steps_read_the_whole_shard_unless_they_are_cut(
    samples: int, world_size: int, batch_size: int, at_most: int | None
) -> None:
    steps = shards.steps_per_epoch(samples, world_size, batch_size, at_most)
    share = shards.samples_per_rank(samples, world_size)
    if at_most is None or steps < at_most:
        assert (steps - 1) * batch_size < share <= steps * batch_size or share == steps == 0
    else:
        assert steps == at_most <= -(-share // batch_size)


def test_the_ranks_of_a_step_read_what_one_process_with_their_batches_together_would() -> None:
    order = shards.epoch_order(1000, seed=3, epoch=2)
    each = [shards.training_shard(order, rank, 4) for rank in range(4)]
    alone = shards.training_shard(order, 0, 1)
    for step in range(1000 // 32):
        together = np.concatenate([shard[8 * step : 8 * step + 8] for shard in each])
        assert set(together.tolist()) == set(alone[32 * step : 32 * step + 32].tolist())


def test_an_epoch_has_its_own_order_which_the_seed_decides_alone() -> None:
    first = shards.epoch_order(100, seed=1, epoch=0)
    assert first.tolist() == shards.epoch_order(100, seed=1, epoch=0).tolist()
    assert first.tolist() != shards.epoch_order(100, seed=1, epoch=1).tolist()
    assert first.tolist() != shards.epoch_order(100, seed=2, epoch=0).tolist()
    # A run that goes on in another image must read the same: the stream itself is fixed.
    assert shards.epoch_order(8, seed=1, epoch=0).tolist() == [6, 3, 7, 1, 4, 0, 2, 5]
