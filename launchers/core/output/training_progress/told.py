"""What one line says of a training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# Who prints so. A bar is tqdm's own, or a framework's that looks like it; logged are the lines of a
# framework's logger.
LAUNCH, KERAS, BAR, LIGHTNING, TRAINER, EXAMPLE, LOGGED = (
    "launch",
    "keras",
    "bar",
    "lightning",
    "trainer",
    "example",
    "logged",
)
STEPS, SAMPLES, IMAGES = "steps", "samples", "images"
EPOCH, TRAINING = "epoch", "training"


@dataclass(frozen=True)
class Told:
    """One line's words; None for what it does not say.

    Attributes:
        by: One of the words above.
        epoch: The epoch that runs or has just ended, as it is printed.
        from_zero: Whether ``epoch`` is known to be counted from 0, and ``epochs`` is the last one.
        epochs: Of the whole training.
        done: Epochs that are done, as a fraction.
        step: Steps, or samples, that are done.
        steps: How many there are.
        counted: What ``step`` counts: ``steps`` or ``samples``.
        of: What ``steps`` are all of: ``epoch``, ``training``, or empty where nothing says.
        rate: ``unit`` a second.
        unit: ``images``, ``samples`` or ``steps``.
        metrics: By name; a name that begins with ``validation`` is of held-out data.
        seconds: Of training so far.
        left: Seconds until ``steps`` are done, as the line says it.
        training_left: Seconds until the training's end, where ``steps`` are an epoch's.
        passing: Whether it is a state of a bar that the next one writes over.
    """

    by: str
    epoch: int | None = None
    from_zero: bool = False
    epochs: int | None = None
    done: float | None = None
    step: int | None = None
    steps: int | None = None
    counted: str = STEPS
    of: str = ""
    rate: float | None = None
    unit: str = STEPS
    metrics: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None
    left: float | None = None
    training_left: float | None = None
    passing: bool = False

    @property
    def is_of_epochs(self) -> bool:
        """Whether it is a bar whose steps are epochs."""
        return self.by == BAR and self.done is not None
