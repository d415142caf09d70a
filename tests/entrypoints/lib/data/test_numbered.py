from __future__ import annotations

from itertools import chain
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entrypoints.lib.data import numbered
from entrypoints.lib.data.dataset import Part
from entrypoints.lib.data.division import DROP, REMAINDERS
from entrypoints.lib.data.numbered import NumberedCourse

SAMPLES = st.integers(min_value=0, max_value=400)
WORLD_SIZE = st.integers(min_value=1, max_value=40)
BATCH_SIZE = st.integers(min_value=1, max_value=64)


def course(samples: int, rank: int, world_size: int, batch_size: int, **more: object):
    part = Part(rank, world_size, batch_size, **{"seed": 3, **more})
    return NumberedCourse(samples, part, None)


@given(SAMPLES, WORLD_SIZE, BATCH_SIZE, st.sampled_from(REMAINDERS), st.integers(0, 1000))
def test_an_epoch_has_each_sample_once_over_all_ranks_in_as_many_steps_on_each(
    samples: int, world_size: int, batch_size: int, remainder: str, epoch: int
) -> None:
    read, steps = [], set()
    for rank in range(world_size):
        one = course(samples, rank, world_size, batch_size, remainder=remainder)
        numbers, ends, counts = one.laid_out(epoch)
        assert ends[-1] == len(numbers) == len(counts)
        assert np.diff(ends).max(initial=0) <= batch_size
        steps.add((one.steps, len(ends) - 1))
        read += numbers[counts > 0].tolist()
    assert len(set(read)) == len(read)
    assert set(read) <= set(range(samples))
    assert samples - len(read) == (samples % world_size if remainder == DROP else 0)
    ((said, taken),) = steps
    assert said == taken == ceil(ceil(len(read) / world_size) / batch_size)


def test_the_ranks_of_a_step_read_what_one_process_with_their_batches_together_would() -> None:
    each = [course(1000, rank, 4, 8).laid_out(2)[0] for rank in range(4)]
    alone = course(1000, 0, 1, 32).laid_out(2)[0]
    for step in range(1000 // 32):
        together = np.concatenate([numbers[8 * step : 8 * step + 8] for numbers in each])
        assert set(together.tolist()) == set(alone[32 * step : 32 * step + 32].tolist())


@pytest.mark.parametrize("most", [1, 3])
def test_an_epoch_that_is_cut_has_so_many_steps(most: int) -> None:
    one = course(100, 1, 4, 5, max_steps=most)
    numbers, ends, _ = one.laid_out(0)
    assert (one.steps, one.first_steps, len(ends) - 1) == (most, most, most)
    assert numbers.tolist() == course(100, 1, 4, 5).laid_out(0)[0][: 5 * most].tolist()


@given(SAMPLES, WORLD_SIZE, BATCH_SIZE)
def test_each_test_sample_is_evaluated_once(samples: int, ranks: int, batch_size: int) -> None:
    each = [numbered.test_numbers(samples, rank, ranks, batch_size) for rank in range(ranks)]
    batches = [batch.tolist() for of_rank in each for batch in of_rank]
    assert sorted(chain.from_iterable(batches)) == list(range(samples))
    assert max(map(len, batches), default=0) <= batch_size
    counts = [sum(map(len, of_rank)) for of_rank in each]
    assert max(counts) - min(counts) <= 1


def test_an_epoch_has_its_own_order_which_the_seed_decides_alone() -> None:
    first = numbered.epoch_order(100, seed=1, epoch=0)
    assert first.tolist() == numbered.epoch_order(100, seed=1, epoch=0).tolist()
    assert first.tolist() != numbered.epoch_order(100, seed=1, epoch=1).tolist()
    assert first.tolist() != numbered.epoch_order(100, seed=2, epoch=0).tolist()
    # A run that goes on in another image must read the same: the stream itself is fixed.
    assert numbered.epoch_order(8, seed=1, epoch=0).tolist() == [6, 3, 7, 1, 4, 0, 2, 5]
