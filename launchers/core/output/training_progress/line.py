"""One line of a log, whichever of the forms it has."""

from __future__ import annotations

from launchers.core.output.training_progress import (
    bars,
    dictionaries,
    examples,
    keras,
    logged,
    ours,
)
from launchers.core.output.training_progress.hint import LONGEST, may_tell
from launchers.core.output.training_progress.told import Told
from launchers.core.printable import printable

_FORMS = (ours.parse, keras.parse, bars.parse, dictionaries.parse, examples.parse, logged.parse)


def parse(text: str) -> Told | None:
    """What a line says of a training; None where it says nothing of one.

    Colours are left out, and of a line that was written over the last state counts. Of a line of
    any length the last 4096 characters are looked at.

    Example:
        >>> parse("progress: epoch 1/3, step 5/10, 512 images/s, loss 0.5").step
        5
    """
    if not may_tell(text):
        return None
    newest = printable(text[-LONGEST:])
    for form in _FORMS:
        told = form(newest)
        if told is not None:
            return told
    return None
