"""The ranks of a run: who this one is, and what all of them know, decide and end together."""

from __future__ import annotations

import os
from typing import Any, Callable, Mapping, Sequence, TypeVar

import horovod
import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

from .arrays import Array
from .errors import PeerEndedError, TrainingError

T = TypeVar("T")

# What says how many ranks were started, before Horovod says how many it found.
SIZE_VARIABLES = ("LAUNCH_WORLD_SIZE", "HOROVOD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
WEIGHT_TOLERANCE = 1e-3  # relative; ranks in step agree far better than this


class Ranks:
    """Horovod's ranks after ``hvd.init()``. Every method that says "all ranks" is collective.

    Attributes:
        rank: This process's number in the job, from 0.
        size: The world size.
        position: This process's number on its host, from 0.
        on_this_host: Ranks on its host.
    """

    def __init__(self) -> None:
        """Starts Horovod. Blocks until all ranks have come.

        Raises:
            TrainingError: Horovod found another number of ranks than were started.
        """
        hvd.init()
        self.rank, self.size = int(hvd.rank()), int(hvd.size())
        self.position, self.on_this_host = int(hvd.local_rank()), int(hvd.local_size())
        check_size(self.size, os.environ)

    @property
    def first(self) -> bool:
        """Whether this is rank 0, the one that writes."""
        return self.rank == 0

    def together(self, attempt: Callable[[], T]) -> T:
        """Runs ``attempt`` here and goes on once it has worked on all ranks.

        Raises:
            TrainingError: It failed here; of several ranks the lowest one raises this.
            PeerEndedError: It failed on another rank, which says why.
        """
        result: T | None = None
        problem: str | None = None
        try:
            result = attempt()
        except TrainingError as error:
            problem = str(error)
        problems: list[str | None] = hvd.allgather_object(problem, name="problem")
        failed = [rank for rank, text in enumerate(problems) if text is not None]
        if not failed:
            return result  # type: ignore[return-value]
        if self.rank != failed[0]:
            raise PeerEndedError(f"rank {failed[0]}: {problems[failed[0]]}")
        others = [rank for rank in failed[1:] if problems[rank] != problem]
        unlike = f" (other problems on ranks {others})" if others else ""
        raise TrainingError(f"{problem}{unlike}")

    def on_first(self, attempt: Callable[[], T]) -> T | None:
        """Runs ``attempt`` on rank 0 alone; all ranks go on once it has worked there.

        Returns:
            Its result on rank 0, None elsewhere.

        Raises:
            TrainingError: It failed, on rank 0.
            PeerEndedError: The same on the others.
        """
        return self.together(lambda: attempt() if self.first else None)

    def from_first(self, value: T) -> T:
        """Rank 0's ``value`` on all ranks; it is pickled."""
        result: T = hvd.broadcast_object(value, root_rank=0, name="value")
        return result

    def gather(self, value: T) -> list[T]:
        """Every rank's ``value`` on all ranks, by rank; it is pickled."""
        result: list[T] = hvd.allgather_object(value, name="values")
        return result

    def same_variables(self, variables: Sequence[Any]) -> None:
        """Puts rank 0's values into ``variables`` on all ranks."""
        hvd.broadcast_variables(list(variables), root_rank=0)

    def average_variables(self, variables: Sequence[Any]) -> None:
        """Puts the mean of all ranks' values into ``variables``; the same numbers on every rank."""
        floats = [variable for variable in variables if variable.dtype.is_floating]
        if not floats or self.size == 1:
            return
        flat = np.concatenate([variable.numpy().astype(np.float32).ravel() for variable in floats])
        means = hvd.allreduce(tf.constant(flat), name="average_variables").numpy()
        at = 0
        for variable in floats:
            count = int(np.prod(variable.shape, dtype=np.int64))
            variable.assign(means[at : at + count].reshape(variable.shape))
            at += count

    def average(self, values: Mapping[str, float], weight: float) -> dict[str, float]:
        """Averages over all ranks, each rank's values counting ``weight`` times."""
        gathered = self.gather((weight, dict(values)))
        total = sum(each for each, _ in gathered)
        return {
            name: sum(each * of_rank[name] for each, of_rank in gathered) / total for name in values
        }

    def check_in_step(self, weights: Sequence[Array]) -> None:
        """Proves that training keeps the model the same on all ranks.

        Raises:
            TrainingError: A rank's weights have drifted away, so gradients are not averaged.
            PeerEndedError: The same, on all ranks but 0.
        """
        sums = self.gather([float(np.abs(array).sum(dtype=np.float64)) for array in weights])

        def compare() -> None:
            for rank, of_rank in enumerate(sums):
                if not np.allclose(of_rank, sums[0], rtol=WEIGHT_TOLERANCE, equal_nan=True):
                    raise TrainingError(
                        f"the model of rank {rank} differs from rank 0's after an epoch: gradients "
                        f"are not averaged. Horovod {horovod.__version__} does not fit TensorFlow "
                        f"{tf.__version__}; take a Horovod that was built for it."
                    )

        self.on_first(compare)


def check_size(found: int, environment: Mapping[str, str]) -> None:
    """Passes when Horovod found as many ranks as were started.

    Raises:
        TrainingError: It did not: N processes would each train a model of their own.
    """
    for name in SIZE_VARIABLES:
        text = environment.get(name, "")
        if text.isdigit() and int(text) != found:
            raise TrainingError(
                f"{name} says {text} ranks, but Horovod found {found}. Likely this Horovod was "
                "built without the controller that started it (horovodrun --check-build), or "
                "HOROVOD_CONTROLLER is not set."
            )
