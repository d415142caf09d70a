"""What the one command line can ask for and not every script does: one line each."""

from __future__ import annotations

from typing import Mapping

from .arguments import Settings
from .errors import TrainingError

# What a script has that exchanges gradients in one way alone.
ONE_EXCHANGE: Mapping[str, object] = {
    "sync": "allreduce",
    "compression": "none",
    "backward_passes": 1,
    "divide": "samples",
}
# And one whose models have no layers of augmentation.
PLAIN_MODELS: Mapping[str, object] = {"augment_in_model": ()}


ALL_OF_IT = "train_image_classifier.py"


def check(settings: Settings, *fixed: Mapping[str, object], instead: str = ALL_OF_IT) -> None:
    """Passes where the command line asks for nothing else than what is fixed in a script.

    Args:
        settings: The command line.
        fixed: Fields of it, and the one value that the script has for each.
        instead: A script that has more.

    Raises:
        TrainingError: It does; said before anything is read or computed.
    """
    for only in fixed:
        for field, value in only.items():
            found = getattr(settings, field, value)
            if str(found) != str(value):
                flag = "--augment" if field == "augment_in_model" else f"--{field}"
                shown = ",".join(found) if isinstance(found, tuple) else found
                raise TrainingError(
                    f"{flag.replace('_', '-')} {shown}: not in this script; leave it out, or use "
                    f"{instead}"
                )
