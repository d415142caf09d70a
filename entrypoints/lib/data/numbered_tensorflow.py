"""The tf.data input of a rank, from samples that are read by their number."""

from __future__ import annotations

from typing import Any, Callable, Tuple

import tensorflow as tf

from ..arrays import Array
from .numbered import Fetch

LaidOut = Callable[[int], Tuple[Array, Array, Array]]  # as NumberedCourse.laid_out


def batches(
    epochs: range, laid_out: LaidOut, fetch: Fetch, *, weighted: bool, one_by_one: int | None
) -> Any:
    """A tf.data.Dataset of the batches of these epochs; see ``dataset.Course``.

    Args:
        epochs: Their numbers, from the start.
        laid_out: Which samples are in which batch of an epoch.
        fetch: Gives the pixels and labels of some numbers; called while the graph is made.
        weighted: Whether batches have weights.
        one_by_one: The batch size where ``fetch`` takes one number and is called in parallel.
    """
    kinds = (tf.int64, tf.int64, tf.float32)

    def with_weights(sample: tuple[Any, Any], count: Any) -> Any:
        return (*sample, count) if weighted else sample

    def at_once(numbers: Any, ends: Any, counts: Any) -> Any:
        """Each batch by one call; for what is in memory."""

        def batch(step: Any) -> Any:
            at = slice(ends[step], ends[step + 1])
            return with_weights(fetch(numbers[at]), counts[at])

        return tf.data.Dataset.range(tf.cast(tf.size(ends), tf.int64) - 1).map(batch)

    def in_parallel(numbers: Any, counts: Any) -> Any:
        """Samples in parallel, then batches: all but an epoch's last are full."""
        return (
            tf.data.Dataset.from_tensor_slices((numbers, counts))
            .map(
                lambda number, count: with_weights(fetch(number), count),
                num_parallel_calls=tf.data.AUTOTUNE,
            )
            .batch(one_by_one)
        )

    def one_epoch(epoch: Any) -> Any:
        found = tf.numpy_function(lambda number: laid_out(int(number)), [epoch], kinds)
        numbers, ends, counts = (tf.ensure_shape(each, [None]) for each in found)
        return in_parallel(numbers, counts) if one_by_one else at_once(numbers, ends, counts)

    return tf.data.Dataset.range(epochs.start, epochs.stop).flat_map(one_epoch).prefetch(2)
