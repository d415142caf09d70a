"""Ranks that speak by Horovod's TensorFlow binding."""

from __future__ import annotations

import os
from typing import Any, Sequence, TypeVar

import horovod.tensorflow as hvd
import tensorflow as tf

from ..errors import TrainingError
from ..ranks import Ranks, check_size

T = TypeVar("T")


class HorovodRanks(Ranks):
    """Horovod's ranks after ``hvd.init()``."""

    def __init__(self) -> None:
        """Starts Horovod. Blocks until all ranks have come.

        Raises:
            TrainingError: Horovod found another number of ranks than were started.
        """
        hvd.init()
        super().__init__(
            rank=int(hvd.rank()),
            size=int(hvd.size()),
            position=int(hvd.local_rank()),
            on_this_host=int(hvd.local_size()),
        )
        try:
            check_size(self.size, "Horovod", os.environ)
        except TrainingError as error:
            raise TrainingError(
                f"{error} Likely this Horovod was built without the controller that started it "
                "(horovodrun --check-build), or HOROVOD_CONTROLLER is not set."
            ) from None

    def gather(self, value: T) -> list[T]:
        """Every rank's ``value`` on all ranks, by rank; it is pickled."""
        result: list[T] = hvd.allgather_object(value, name="values")
        return result

    def from_first(self, value: T) -> T:
        """Rank 0's ``value`` on all ranks; it is pickled."""
        result: T = hvd.broadcast_object(value, root_rank=0, name="value")
        return result

    def same_variables(self, variables: Sequence[Any]) -> None:
        """Puts rank 0's values into ``variables`` on all ranks."""
        hvd.broadcast_variables(list(variables), root_rank=0)

    def average_variables(self, variables: Sequence[Any]) -> None:
        """Puts the mean of all ranks' values into ``variables``; the same numbers on every rank."""
        if self.size == 1:
            return
        for dtype in (tf.float32, tf.float64, tf.float16, tf.bfloat16):
            # The variables themselves go, not copies: so the job's evidence knows whose mean it is.
            # Without a name, which the Horovod of older images (0.23 to 0.25) does not take.
            alike = [variable for variable in variables if variable.dtype.base_dtype == dtype]
            if alike:
                for variable, mean in zip(alike, hvd.grouped_allreduce(alike)):
                    variable.assign(mean)
