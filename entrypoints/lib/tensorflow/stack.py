"""The training stack: TensorFlow and Horovod, imported with the settings that they need.

TensorFlow reads its thread and memory settings when it first computes, so the order here matters.
"""

from __future__ import annotations

import os
import sys
from typing import Mapping, MutableMapping

from .. import cycle_time
from ..cores import threads_per_rank
from ..errors import TrainingError, first_line
from ..ranks import Ranks
from . import quiet


def import_quietly() -> None:
    """Imports TensorFlow and Horovod's Keras binding, and counts the GPUs. Takes seconds.

    Raises:
        TrainingError: One of them is missing or does not fit the others.
    """
    quiet.import_tensorflow()
    with quiet.known_noise_dropped():
        try:
            import horovod.tensorflow.keras  # noqa: F401
        except ImportError as error:
            raise TrainingError(
                f"Horovod for TensorFlow cannot be imported in {sys.executable}: "
                f"{first_line(error)}. Install horovod, after TensorFlow, with "
                "HOROVOD_WITH_TENSORFLOW=1."
            ) from error


def prepare_exchange(model: str, environment: MutableMapping[str, str] = os.environ) -> None:
    """Sets what Horovod reads in ``hvd.init()``, which comes after this.

    Args:
        model: One of ``--model``.
        environment: The process's.
    """
    import tensorflow as tf

    gpus = len(tf.config.list_physical_devices("GPU"))
    milliseconds = cycle_time.cycle_time(model, gpus, environment)
    if milliseconds is not None:
        environment[cycle_time.VARIABLE] = milliseconds


def prepare_devices(ranks: Ranks, environment: Mapping[str, str] = os.environ) -> int:
    """Memory growth on GPUs, a fair share of the cores without any. Gives the number of GPUs.

    A rank normally sees the one GPU that it was given. Where it sees several and shares the host,
    nobody has divided them, and it takes the one at its own position.

    Args:
        ranks: Of the run.
        environment: The process's environment.
    """
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    if len(gpus) > 1 and ranks.on_this_host > 1:
        gpus = [gpus[ranks.position % len(gpus)]]
        tf.config.set_visible_devices(gpus, "GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    threads = threads_per_rank(ranks.on_this_host, environment)
    if not gpus and threads is not None:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
    return len(gpus)
