"""A request that starts something else in its containers than the toolkit of the image.

SageMaker runs ``train`` in a container unless the request names a ContainerEntrypoint or
ContainerArguments of its own (API reference, AlgorithmSpecification). Then nothing reads the
hyperparameters that switch a distribution on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from launchers.core.model.document import at, entries, mapping
from launchers.core.model.problems import Problem
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.starts.groups import Group, groups_of, hosts_of
from launchers.sagemaker.starts.start import Start, spread_text
from launchers.sagemaker.starts.ways import module_of, switched_on

_TOOLKIT = "train"
# SageMaker Python SDK 3.x, train/constants.py: the channel of what its ModelTrainer starts.
_SDK_3_CHANNEL = "sm_drivers"
_PATH = "$.AlgorithmSpecification.ContainerEntrypoint"
_EXPECTED = "no such key: the toolkit starts the ranks of all hosts as one job"


def starts_toolkit(document: object) -> bool:
    """Whether the containers run the toolkit, by default or as the last word of their command."""
    words = _command(document)
    return not words or words[-1].rpartition("/")[2] == _TOOLKIT


def start_by_command(document: object) -> Start:
    """What such a request starts, as far as it says so itself."""
    groups = groups_of(document)
    words = _command(document)
    found = " ".join(words)[:60]
    if _is_sdk_3(document, words):
        return _by_drivers(document, groups)
    on = switched_on(document)
    if on:
        cause = f"{found}: it takes the place of the toolkit, so {on[0].flag} does nothing"
        return Start("command", None, cause, problems=(_problem(cause),))
    # Imported here: a plan's own document never comes this way.
    from launchers.core.analysis.plain_start.start import read_start
    from launchers.core.analysis.plain_start.world import Hosts, world_of

    environment = mapping(document, "Environment")
    variables = {name: value for name, value in environment.items() if isinstance(value, str)}
    world = world_of(
        [
            Hosts(read_start(words, group.gpus or 0, variables), group.hosts, group.gpus or 0)
            for group in groups
        ]
    )
    apart = world.because if world.copies > 1 else world.never
    problems = (_problem(apart),) if apart else ()
    return Start("command", world.started, world.because, problems=problems)


def _by_drivers(document: object, groups: Sequence[Group]) -> Start:
    """The drivers of the SDK 3: the request does not say which, its channel does.

    Source: sagemaker 2.257.7 and 3.27.0, train/container_drivers: torchrun_driver.py,
    mpi_driver.py, basic_script_driver.py.
    """
    hosts = hosts_of(groups)
    if hosts is None or hosts < 2:
        return Start("drivers", None, f"{_WHICH}: one process, or one for each GPU of the host")
    placed = [(group, group.gpus or 1) for group in groups if group.gpus is not None]
    torchrun = "Torchrun starts a job over all hosts"
    if len(placed) == len(groups):
        ranks = sum((group.hosts or 0) * processes for group, processes in placed)
        torchrun += f" (by its default {spread_text(placed)} = {ranks})"
    because = f"{_WHICH}: {torchrun}; {_fault(hosts)}; without one each host runs alone"
    if module_of(document) != "tensorflow":
        return Start("drivers", None, because)
    # An image of TensorFlow has no torchrun: whatever driver it is, the hosts are no one job.
    cause = (
        f"the drivers of the SageMaker SDK 3 (channel {_SDK_3_CHANNEL}), in an image without "
        f"torchrun: {_fault(hosts)}; without it each host runs alone"
    )
    return Start("drivers", None, cause, problems=(_problem(cause, _SDK_3_FIX),))


_WHICH = f"which driver of the SageMaker SDK 3 runs lies in its channel {_SDK_3_CHANNEL}"
_SDK_3_FIX = (
    "send it with `launch sagemaker`, or with the estimator of the SDK's 2.x "
    "(launchers.sagemaker.estimator)"
)


def _fault(hosts: int) -> str:
    return (
        f"its MPI driver gives mpirun -np <ranks per host> instead of {hosts} times that, so all "
        "ranks land on the first host and the others idle"
    )


def _problem(cause: str, fix: str = "leave the key out") -> Problem:
    return RULES["world-size"].at(_PATH, cause, _EXPECTED, fix)


def _is_sdk_3(document: object, words: Sequence[str]) -> bool:
    channels = entries(document, "InputDataConfig")
    named = any(channel.get("ChannelName") == _SDK_3_CHANNEL for channel in channels)
    return named and any(_SDK_3_CHANNEL in word for word in words)


def _command(document: object) -> list[str]:
    words: list[str] = []
    for key in ("ContainerEntrypoint", "ContainerArguments"):
        value = at(document, "AlgorithmSpecification", key)
        words += _texts(value) if isinstance(value, list) else []
    return words


def _texts(values: Iterable[object]) -> list[str]:
    return [value for value in values if isinstance(value, str)]
