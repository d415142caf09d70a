"""One rank under torchrun: the function that TorchDistributor's tasks run, one process each."""

from __future__ import annotations

import os
from typing import Any, Mapping

from launch_runtime.rank import gpu_pinning
from launch_runtime.spark import rank_host
from launch_runtime.spark.rank_environment import Place


def run(payload: Mapping[str, Any], entrypoints: str) -> None:
    """Runs the guard in the place that torchrun has given this process; blocks until it ends.

    How it ends is reported over the link, and this process ends well: a torchrun that saw it fail
    would kill the others before they have said what they know.

    Args:
        payload: See :func:`torch_start.run`.
        entrypoints: The folder of guard.py.
    """
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    local_rank, local_size = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
    # Each task is a node of its own to torchrun (--nproc_per_node=1), two on one machine too.
    place = Place(rank, size, local_rank, local_size, group="")
    # TorchDistributor has put what Spark has given the task there, or nothing.
    gpus = gpu_pinning.devices(os.environ.get(gpu_pinning.VARIABLE, ""))
    rank_host.run(place, payload, entrypoints, gpus)
