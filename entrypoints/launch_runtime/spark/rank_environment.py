"""What a rank's guard finds in its environment on an executor."""

from __future__ import annotations

from typing import Mapping, NamedTuple, Sequence

from launch_runtime import stamps
from launch_runtime.rank.gpu_pinning import TASK_DEVICES
from launch_runtime.rank.gpu_pinning import VARIABLE as VISIBLE_DEVICES
from launch_runtime.rank.identity import REPORTED, SEAT, SPREAD

# What Horovod's and Spark's services are spoken to with (the second is spark.authenticate.secret,
# SecurityManager.scala), and the job's nonce: no script's.
SECRETS = (
    "_HOROVOD_SECRET_KEY",
    "_SPARK_AUTH_SECRET",
    "PYTHON_WORKER_FACTORY_SECRET",
    stamps.NONCE,
)


class Place(NamedTuple):
    """A rank's place, as whoever started it says; ``group`` is the same for the ranks of one
    machine, among which ``local_rank`` counts, and "" where each rank is told that it is alone."""

    rank: int
    size: int
    local_rank: int
    local_size: int
    group: str


def of_guard(
    environment: Mapping[str, str],
    place: Place,
    host: str,
    gpus: Sequence[str] | None,
    devices: str,
) -> dict[str, str]:
    """The guard's variables.

    Args:
        environment: Of the executor's process for the rank.
        place: The rank's.
        host: Its host's name in messages.
        gpus: That Spark has given the rank's task; None in a job without GPUs.
        devices: The job's on that machine, by local rank, as CUDA takes them.
    """
    built = {name: value for name, value in environment.items() if name not in SECRETS}
    built["LAUNCH_HOST"], built[SPREAD] = host, REPORTED
    built[SEAT] = f"{place.size} {place.rank} {place.local_size} {place.local_rank}"
    if gpus is not None and built.get("LAUNCH_PIN_GPU") == "guard":
        built[TASK_DEVICES] = ",".join(gpus)
    else:
        # A script that pins takes the local-rank-th of those that it sees: its task's own. In a job
        # without GPUs it sees none, whatever the machine has.
        built[VISIBLE_DEVICES] = devices
    return built
