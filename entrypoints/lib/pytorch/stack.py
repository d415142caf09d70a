"""PyTorch and Lightning, imported with one line for what is missing, and the device of a rank."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from typing import Any

from ..cores import threads_per_rank
from ..errors import TrainingError, first_line
from ..ranks import Ranks


def import_torch() -> None:
    """Imports PyTorch. Takes seconds.

    Raises:
        TrainingError: It is missing, or does not fit the NumPy that is there.
    """
    try:
        import torch

        torch.ones(1).numpy()
    except (ImportError, RuntimeError) as error:
        raise TrainingError(
            f"PyTorch cannot be used in {sys.executable}: {first_line(error)}. Install torch "
            "(before 2.3 with 'numpy<2')."
        ) from error


def import_lightning() -> None:
    """Imports Lightning, without its remarks on hardware and options. Takes seconds.

    Raises:
        TrainingError: It is missing, or does not fit the PyTorch that is there.
    """
    try:
        import lightning.pytorch  # noqa: F401
    except Exception as error:  # also what PyTorch's own modules raise under a newer Python
        raise TrainingError(
            f"Lightning cannot be used in {sys.executable}: {first_line(error)}. Install "
            "lightning 2.2 or newer, one that fits this torch; or use train_torch.py, which needs "
            "none."
        ) from error
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")


def prepare_device(ranks: Ranks) -> Any:
    """The device of this rank: its GPU, else the CPU with a fair share of the cores.

    A rank normally sees the one GPU that it was given. Where it sees several and shares the host,
    nobody has divided them, and it takes the one at its own position.
    """
    import torch

    gpus = torch.cuda.device_count()
    if gpus:
        number = ranks.position % gpus
        torch.cuda.set_device(number)
        return torch.device("cuda", number)
    threads = threads_per_rank(ranks.on_this_host, os.environ)
    if threads is not None:
        torch.set_num_threads(threads)
        # Else Lightning counts anew, and takes each simulated host for a machine of its own.
        os.environ["OMP_NUM_THREADS"] = str(threads)
    return torch.device("cpu")
