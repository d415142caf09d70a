"""The ranks of a run, however they speak: what they know, decide and end together.

A way to speak is a subclass that gives two operations; everything else is made of them.
"""

from __future__ import annotations

import abc
from typing import Callable, ClassVar, Mapping, Sequence, TypeVar

import numpy as np

from .arrays import Array
from .data.dataset import DataSet
from .errors import PeerEndedError, TrainingError

T = TypeVar("T")

# What says how many ranks were started, before the ranks say how many they found.
SIZE_VARIABLES = ("LAUNCH_WORLD_SIZE", "HOROVOD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
WEIGHT_TOLERANCE = 1e-3  # relative; ranks in step agree far better than this


class Ranks(abc.ABC):
    """The ranks once they have found each other. What says "all ranks" is called on all of them.

    Attributes:
        rank: This process's number in the job, from 0.
        size: The world size.
        position: This process's number on its host, from 0.
        on_this_host: Ranks on its host.
        of_this_process: The one object there is; None before.
    """

    of_this_process: ClassVar[Ranks | None] = None

    def __init__(self, rank: int, size: int, position: int, on_this_host: int):
        self.rank, self.size = rank, size
        self.position, self.on_this_host = position, on_this_host
        Ranks.of_this_process = self

    @abc.abstractmethod
    def gather(self, value: T) -> list[T]:
        """Every rank's ``value`` on all ranks, by rank; it is pickled."""

    @abc.abstractmethod
    def from_first(self, value: T) -> T:
        """Rank 0's ``value`` on all ranks; it is pickled."""

    def leave(self) -> None:
        """Ends what the ranks share. All ranks call it, once training has ended well."""
        Ranks.of_this_process = None

    def reading(self, data: DataSet) -> DataSet:
        """The data as this process reads it: as it is, unless it trains several models."""
        return data

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
        problems = self.gather(problem)
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

    def average(self, values: Mapping[str, float], weight: float) -> dict[str, float]:
        """Averages over all ranks, each rank's values counting ``weight`` times."""
        gathered = self.gather((weight, dict(values)))
        total = sum(each for each, _ in gathered)
        return {
            name: sum(each * of_rank[name] for each, of_rank in gathered) / total for name in values
        }

    def check_in_step(self, weights: Sequence[Array], versions: Mapping[str, str]) -> None:
        """Proves that training keeps the model the same on all ranks.

        Args:
            weights: This rank's.
            versions: Of the libraries that should have kept them so, for the message.

        Raises:
            TrainingError: A rank's weights have drifted away, so gradients are not averaged.
            PeerEndedError: The same, on all ranks but 0.
        """
        sums = self.gather([float(np.abs(array).sum(dtype=np.float64)) for array in weights])

        def compare() -> None:
            for rank, of_rank in enumerate(sums):
                if not np.allclose(of_rank, sums[0], rtol=WEIGHT_TOLERANCE, equal_nan=True):
                    used = ", ".join(f"{name} {version}" for name, version in versions.items())
                    raise TrainingError(
                        f"the model of rank {rank} differs from rank 0's after an epoch: gradients "
                        f"are not averaged. {used}: these do not fit each other; take versions "
                        "that were built for each other."
                    )

        self.on_first(compare)


def check_size(found: int, by: str, environment: Mapping[str, str]) -> None:
    """Passes when as many ranks found each other as were started.

    Args:
        found: The world size.
        by: The library that found it, for the message.
        environment: The process's.

    Raises:
        TrainingError: There are others: N processes would each train a model of their own.
    """
    for name in SIZE_VARIABLES:
        text = environment.get(name, "")
        if text.isdigit() and int(text) != found:
            raise TrainingError(f"{name} says {text} ranks, but {by} found {found}.")
