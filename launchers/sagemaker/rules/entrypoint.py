"""A request that starts something else in its containers than the toolkit of the image.

SageMaker runs ``train`` in a container unless the request names a ContainerEntrypoint or
ContainerArguments of its own (API reference, AlgorithmSpecification). Then nothing reads the MPI
hyperparameters, and the request does not say how many ranks there will be.
"""

from __future__ import annotations

from collections.abc import Iterable

from launchers.core.model.document import at, entries
from launchers.core.model.problems import Problem
from launchers.core.planning.plan import counted
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.document import MPI_ENABLED, instances, uses_mpi

_TOOLKIT = "train"
# SageMaker Python SDK 3.x, train/constants.py: the channel of what its ModelTrainer starts.
_SDK_3_CHANNEL = "sm_drivers"
_PATH = "$.AlgorithmSpecification.ContainerEntrypoint"
_EXPECTED = f"no such key: the toolkit starts the ranks of all hosts as one job ({MPI_ENABLED})"


def starts_toolkit(document: object) -> bool:
    """Whether the containers run the toolkit, by default or as the last word of their command."""
    words = _command(document)
    return not words or words[-1].rpartition("/")[2] == _TOOLKIT


def check_entrypoint(document: object, meant: int | None) -> list[Problem]:
    """Why a request that does not start the toolkit has another world size than was meant.

    Args:
        meant: The world size, where the document or the caller says it.

    Returns:
        An error for several hosts, and where MPI hyperparameters are there and do nothing; where
        one host may well start all ranks, a problem of severity ``unknown``.
    """
    if starts_toolkit(document):
        return []
    hosts = instances(document) or 1
    if hosts > 1 and _is_sdk_3(document):
        return [RULES["world-size"].at(_PATH, _sdk_3_cause(hosts), _EXPECTED, _SDK_3_FIX)]
    found = " ".join(_command(document))[:60]
    if uses_mpi(document):
        cause = f"{found}: it takes the place of the toolkit, so the MPI hyperparameters do nothing"
        return [RULES["world-size"].at(_PATH, cause, _EXPECTED, "leave the key out")]
    if hosts > 1:
        cause = f"{found}: it runs on each of {counted(hosts, 'host')}, and nothing joins them"
        return [RULES["world-size"].at(_PATH, cause, _EXPECTED, "leave the key out")]
    if meant in (None, 1):
        return []
    cause = f"{found}: the request does not say how many ranks it starts"
    return [RULES["world-size"].at(_PATH, cause, f"world size {meant}", severity="unknown")]


_SDK_3_FIX = (
    "send it with `launch sagemaker`, or with the estimator of the SDK's 2.x "
    "(launchers.sagemaker.estimator)"
)


def _sdk_3_cause(hosts: int) -> str:
    return (
        f"the drivers of the SageMaker SDK 3 (channel {_SDK_3_CHANNEL}): its MPI driver gives "
        f"mpirun -np <ranks per host> instead of {hosts} times that, so all ranks land on the "
        "first host, the world size is that of one host, and the others idle; its other drivers "
        "start no MPI ranks at all"
    )


def _is_sdk_3(document: object) -> bool:
    channels = entries(document, "InputDataConfig")
    return any(channel.get("ChannelName") == _SDK_3_CHANNEL for channel in channels)


def _command(document: object) -> list[str]:
    words: list[str] = []
    for key in ("ContainerEntrypoint", "ContainerArguments"):
        value = at(document, "AlgorithmSpecification", key)
        words += _texts(value) if isinstance(value, list) else []
    return words


def _texts(values: Iterable[object]) -> list[str]:
    return [value for value in values if isinstance(value, str)]
