"""How often Horovod's background thread looks whether all ranks have a gradient."""

from __future__ import annotations

from typing import Mapping

from .options.models import PUBLISHED

VARIABLE = "HOROVOD_CYCLE_TIME"  # in ms; Horovod's own is 1 (docs/tensor-fusion.rst of 0.28.1)
AUTOTUNE = "HOROVOD_AUTOTUNE"  # Horovod tunes it, where it is not set
_LONG = "10"


def cycle_time(model: str, gpus: int, environment: Mapping[str, str]) -> str | None:
    """Milliseconds for ``VARIABLE``; None where Horovod's own stay, or the user has decided.

    In every cycle the ranks speak to each other, also while there is nothing to exchange. Without a
    GPU that takes the cores on which they compute. A step of the published networks lasts some
    hundred milliseconds there, and ten are no wait; beside a step of the small ones they are.

    Args:
        model: One of ``--model``.
        gpus: That this rank sees.
        environment: The process's.
    """
    if gpus or model not in PUBLISHED or environment.get(VARIABLE) or environment.get(AUTOTUNE):
        return None
    return _LONG
