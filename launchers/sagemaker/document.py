"""Reading a CreateTrainingJob request that may be wrong anywhere: what stands where."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from launchers.core.model.document import at, entries, mapping, whole_number
from launchers.core.paths import templates_folder

PROGRAM = "sagemaker_program"
SUBMIT_DIRECTORY = "sagemaker_submit_directory"
MPI_ENABLED = "sagemaker_mpi_enabled"
MPI_PROCESSES_PER_HOST = "sagemaker_mpi_num_of_processes_per_host"
MPI_PROCESSES = "sagemaker_mpi_num_processes"
MPI_OPTIONS = "sagemaker_mpi_custom_mpi_options"
MPI_PREFIX = "sagemaker_mpi_"
LAUNCH_SCRIPT = "sagemaker_launch_script"
LAUNCH_MODULE = "sagemaker_launch_module"
LAUNCH_ARGS = "sagemaker_launch_args"

# What the toolkit makes of a bundle that is an input channel (facts: its code channel).
CODE_CHANNEL = "code"
CODE_PATH = "/opt/ml/input/data/code/sourcedir.tar.gz"
CHECKPOINT_PATH = "/opt/ml/checkpoints"
GUARD = "guard.py"

# How a request starts our agent: a shell that runs a program of several lines, since the service
# takes no line ends in a word (AlgorithmSpecification.ContainerEntrypoint of the API).
ENTRYPOINT = ("/bin/bash", "-c", 'eval "$(printf \'%s\\n\' "${@:2}")"', "launch")
PROCESSES = "LAUNCH_PROCESSES"


@lru_cache(maxsize=1)
def bootstrap() -> tuple[str, ...]:
    """The lines of the program that unpacks the bundle on a host and becomes its agent."""
    text = (templates_folder() / "sagemaker" / "bootstrap.sh").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line)


def container_arguments(sha256: str) -> tuple[str, ...]:
    """What follows :data:`ENTRYPOINT` for a bundle whose tar has that hash."""
    return (sha256, *bootstrap())


def starts_agent(document: object) -> bool:
    """Whether its containers run our agent."""
    words = bootstrap_arguments(document)
    return bool(words) and tuple(words[1:]) == bootstrap()


def bootstrap_arguments(document: object) -> Sequence[str]:
    """The words behind our entry point, hash first; empty where the entry point is another."""
    algorithm = mapping(document, "AlgorithmSpecification")
    if algorithm.get("ContainerEntrypoint") != list(ENTRYPOINT):
        return ()
    words = algorithm.get("ContainerArguments")
    found = words if isinstance(words, list) else []
    return [word if isinstance(word, str) else "" for word in found]


def hyperparameter(document: object, name: str) -> Any:
    """A hyperparameter's value as the toolkit reads it: JSON, else the text itself.

    None where it is absent. A number or true without quotes, which the service refuses, is what
    it would be with them, so that the quotes are all that is told.
    """
    text = at(document, "HyperParameters", name)
    if isinstance(text, bool | int):
        return text
    if not isinstance(text, str):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text


def code_place(document: object) -> str:
    """Where the request expects the bundle."""
    for channel in entries(document, "InputDataConfig"):
        if channel.get("ChannelName") == CODE_CHANNEL:
            return str(at(mapping(channel, "DataSource"), "S3DataSource", "S3Uri") or "")
    return ""


def instances(document: object) -> int | None:
    """How many hosts the request asks for, over all instance groups."""
    groups = at(document, "ResourceConfig", "InstanceGroups")
    if isinstance(groups, list) and groups:
        counts = [whole_number(at(group, "InstanceCount")) for group in groups]
        return sum(count for count in counts if count is not None)
    return whole_number(at(document, "ResourceConfig", "InstanceCount"))


def instance_types(document: object) -> list[str]:
    """The machine types that the request names."""
    resources = mapping(document, "ResourceConfig")
    found = [resources.get("InstanceType")]
    found += [group.get("InstanceType") for group in entries(resources, "InstanceGroups")]
    return [name for name in found if isinstance(name, str)]


def uses_mpi(document: object) -> bool:
    """Whether the toolkit will start mpirun: it takes any value that is true for Python."""
    return bool(hyperparameter(document, MPI_ENABLED))


def processes_per_host(document: object) -> int | None:
    """Ranks on each host by the MPI hyperparameter; None where it is not a number."""
    return whole_number(hyperparameter(document, MPI_PROCESSES_PER_HOST))


def program(document: object) -> tuple[str, ...]:
    """What each rank runs, a Python file (or ``-m`` and a module) with its arguments; empty where
    mpirun starts none."""
    script, module = (hyperparameter(document, name) for name in (LAUNCH_SCRIPT, LAUNCH_MODULE))
    if isinstance(module, str) or isinstance(script, str):
        start = ("-m", module) if isinstance(module, str) else (str(script),)
        arguments = hyperparameter(document, LAUNCH_ARGS)
        return (*start, *map(str, arguments if isinstance(arguments, list) else ()))
    entry = hyperparameter(document, PROGRAM)
    if not uses_mpi(document) or not isinstance(entry, str) or not entry.endswith(".py"):
        return ()
    values = mapping(document, "HyperParameters").items()
    return (entry, *(str(value) for name, value in values if not name.startswith("sagemaker_")))
