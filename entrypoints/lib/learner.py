"""What a run asks of a framework's model and optimizer, so that it knows no framework."""

from __future__ import annotations

from typing import Any, Mapping, Protocol, Sequence

from .arrays import Array


class Learner(Protocol):
    """A model in training on one rank. Arrays have one order, the same on all ranks and in every
    run of the same script."""

    @property
    def versions(self) -> Mapping[str, str]:
        """Of the libraries that it is made of: {"TensorFlow": "2.18.1", "Horovod": "0.28.1"}."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """What else its arrays belong to, for checkpoints: one with another identity is refused."""

    def weights(self) -> list[Array]:
        """The model's arrays, statistics of normalisation included."""

    def optimizer_state(self) -> list[Array]:
        """The optimizer's arrays."""

    def fill(self, weights: Sequence[Array], optimizer: Sequence[Array]) -> None:
        """Puts these, in the same orders, into model and optimizer."""

    def take_first(self) -> None:
        """Puts rank 0's values into all ranks' model and optimizer; called on all ranks."""

    def settle(self) -> None:
        """Averages over the ranks what each has of its own, so that models are equal; called on all
        ranks, before weights are used, and where ``--sync average:K`` is due. Those are the moving
        statistics of normalisation; with ``--sync average`` parameters and optimizer state too."""

    def predict(self, images: Array) -> Array:
        """(n, classes) probabilities for (n, rows, columns, channels) float32 pixels."""
