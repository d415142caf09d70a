"""Which layers before the head stay as they are."""

from __future__ import annotations

from typing import Any

from ...errors import TrainingError
from .architectures import body_of

NONE, BODY = "none", "body"


def freeze(model: Any, frozen: str | int) -> None:
    """Freezes all layers before the head (BODY), the first so many, or none.

    A frozen BatchNormalization uses its moving statistics and leaves them alone.

    Raises:
        TrainingError: There are fewer layers before the head.
    """
    if frozen == NONE:
        return
    body = body_of(model)
    count = len(body) if frozen == BODY else int(frozen)
    if count > len(body):
        raise TrainingError(
            f"--freeze {count}: {model.name} has {len(body)} layers before its head; expected at "
            f"most that, or {BODY}."
        )
    for layer in body[:count]:
        layer.trainable = False


def moving(model: Any) -> list[Any]:
    """The variables that training changes without a gradient: moving statistics, no frozen weights.

    Ranks gather these from their own samples; frozen weights are equal anyway, and a mean of equal
    numbers over ranks may round.
    """
    if isinstance(getattr(model, "layers", None), list):
        return [variable for layer in model.layers for variable in moving(layer)]
    return list(model.non_trainable_weights) if model.trainable else []
