"""What the driver is told about its job: the ranks' environment and its own settings, by Spark's
configuration, which reaches it in every deploy mode."""

from __future__ import annotations

import os
from typing import Mapping, NamedTuple, Sequence

from launch_runtime import program, stamps
from launch_runtime.environment import SettingError, number, seconds, source_folder
from launch_runtime.host import settings as host_settings
from launch_runtime.host.settings import Settings

ENVIRONMENT = "spark.executorEnv."  # Spark's own, for the variables of an executor
_OWN = "spark.launch."
SLOTS_SECONDS, START_SECONDS = _OWN + "slots.seconds", _OWN + "start.seconds"
RESULT, EXECUTABLE, GPUS = _OWN + "result", _OWN + "executable", _OWN + "gpus"
# Where Spark unpacks the bundle in an executor's working folder.
BUNDLE = "launch_code"


class SparkJob(NamedTuple):
    """All times in seconds.

    Attributes:
        environment: Of the ranks, by name; without the job's nonce.
        settings: What it says of the world, as an agent reads it, with the job's stamp.
        arguments: What each rank runs: ``SCRIPT`` or ``-m MODULE``, and its own.
        folders: Where the bundle may lie on an executor; the first that is there.
        slots_seconds: How long executors may take to register.
        start_seconds: How long ranks may take to start once there are slots for all.
        result: The file that says at the end what the output says, or "".
        executable: The ranks' Python as the document names it, or "" for the executors' own.
        gpus: Of each executor.
    """

    environment: Mapping[str, str]
    settings: Settings
    arguments: Sequence[str]
    folders: Sequence[str]
    slots_seconds: float
    start_seconds: float
    result: str
    executable: str
    gpus: int


def read(
    conf: Mapping[str, str], arguments: Sequence[str], entrypoints: str, stamp: str
) -> SparkJob:
    """The job, with defaults.

    Args:
        conf: Spark's configuration.
        arguments: Of the driver program.
        entrypoints: The folder of the bundle on the driver.
        stamp: The job's.

    Raises:
        SettingError: A value is missing or wrong, or the script is not in the bundle.
    """
    environment = {
        name[len(ENVIRONMENT) :]: value
        for name, value in conf.items()
        if name.startswith(ENVIRONMENT) and name != ENVIRONMENT + stamps.NONCE
    }
    job = SparkJob(
        environment,
        host_settings.read(environment, managed=False, stamp=stamp),
        list(arguments),
        [BUNDLE, entrypoints],
        seconds(conf, SLOTS_SECONDS, 300.0),
        seconds(conf, START_SECONDS, 120.0),
        conf.get(RESULT, ""),
        conf.get(EXECUTABLE, ""),
        number(conf, GPUS) if conf.get(GPUS, "0") != "0" else 0,
    )
    size, made = job.settings.world_size, job.settings.instances * job.settings.processes
    if size != made:
        raise SettingError(
            f"LAUNCH_WORLD_SIZE: found {size}; expected {made}, LAUNCH_INSTANCES x LAUNCH_PROCESSES"
        )
    if not arguments:
        raise SettingError(
            "no script given; usage: spark_driver.py SCRIPT|-m MODULE [ARGUMENTS...]"
        )
    program.find(source_folder({}, os.path.abspath(entrypoints)), arguments)
    return job
