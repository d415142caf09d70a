"""Starts the ranks of ``torch``: PySpark's TorchDistributor, which runs torchrun in each task of a
barrier stage, and in it our guard.

Its own streams of output and its return value are not used: it cuts lines at 4000 characters, names
no rank, and knows the first rank's result alone. Each rank reports over the link instead, as
Horovod's do (rank_host.py). The server of those streams listens on all interfaces of the driver and
takes lines from everybody (pyspark/ml/torch/log_communication.py).
"""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping

from launch_runtime.spark import executors, shipped
from launch_runtime.spark.horovod_start import Remarks

if TYPE_CHECKING:
    from launch_runtime.spark.settings import SparkJob

# A barrier stage for which there are too few slots is tried again 40 times, 15 s apart (Spark's
# configuration, spark.scheduler.barrier.*). Slots are counted before: it finds them, or has lost
# an executor since. And a stage that has failed does not train once more.
SETTINGS = {
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": "3",
    "spark.stage.maxConsecutiveAttempts": "1",
}


def run(session: Any, job: SparkJob, payload: Mapping[str, Any], say: Callable[[str], None]) -> str:
    """Runs all ranks; blocks until they have ended.

    Args:
        session: Spark's, with ``SETTINGS``.
        job: What they run.
        payload: For :func:`rank_host.run`, the same for all.
        say: Takes a line of what torchrun and TorchDistributor write.

    Returns:
        Why Spark says that it failed, in one line; "" where it says nothing. What became of each
        rank is in the reports.
    """
    try:
        from pyspark.ml.torch.distributor import TorchDistributor

        with _heard(say):
            # Its tasks are pickled whole, so that no key stands on a command line.
            TorchDistributor(
                num_processes=job.settings.ranks, local_mode=False, use_gpu=job.gpus > 0
            ).run(shipped.call, list(job.folders), "torch_rank", "run", dict(payload))
    except Exception as error:  # whatever a task, torchrun or Spark itself ended with
        return executors.why_failed(error)[0]
    return ""


@contextlib.contextmanager
def _heard(say: Callable[[str], None]) -> Iterator[None]:
    """Takes what TorchDistributor's server prints of torchrun's output, line by line, and leaves
    out what TorchDistributor itself says, at INFO, of its start and end."""
    logging.disable(logging.INFO)
    try:
        with contextlib.closing(Remarks("torchrun", say)) as remarks:
            written: Any = remarks
            # Its releases differ in which of the two it prints to.
            with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
                yield
    finally:
        logging.disable(logging.NOTSET)
