"""Every rule that a CreateTrainingJob request must keep, ours or anybody's. Pure.

The model's own constraints come first (service_model.py), then what the service says only in its
documentation, then what makes a Horovod job really distributed. All problems are reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from launchers.core.credentials.elsewhere import problems_anywhere
from launchers.core.credentials.search import problems_in_environment
from launchers.core.model.document import at, entries, mapping
from launchers.core.model.problems import Problem
from launchers.core.rules.model_check import one_a_number
from launchers.sagemaker.rules import service_model
from launchers.sagemaker.rules.data import check_data
from launchers.sagemaker.rules.fields import check_fields
from launchers.sagemaker.rules.machines import check_machines
from launchers.sagemaker.rules.places import check_places, check_registry
from launchers.sagemaker.rules.start import check_start
from launchers.sagemaker.rules.world_size import check_world_size
from launchers.sagemaker.starts.read import start_of

_HARDWARE = (
    r"ResourceConfig\.(InstanceType|VolumeKmsKeyId)|processes_per_host|TrainingImage"
    r"|Environment\.LAUNCH"
)
_ARGUMENTS = r"HyperParameters\.(?!sagemaker_mpi_)"
_SCRIPT = r"HyperParameters\.sagemaker_(launch_(script|module)|program)"
# Where a value has a name, by which it may be allowed.
_NAMED_VALUES = ("Environment", "HyperParameters", "Tags")
# See Definer.knock_on_errors.
KNOCK_ON_ERRORS = {
    "gpus-missing": _HARDWARE,
    "machine-gpus": _HARDWARE,
    "machine-unknown": _HARDWARE,
    "machine-accelerator": _HARDWARE,
    "ranks-above-gpus": r"processes_per_host",
    "image-twice": r"TrainingImage",
    "image-region": r"TrainingImage",
    "image-horovod": r"TrainingImage",
    "image-cuda": r"TrainingImage",
    "framework-other": r"TrainingImage",
    "image-default": r"TrainingImage",
    "image-unfit": r"TrainingImage",
    "image-python": r"TrainingImage",
    "isolation": r"EnableNetworkIsolation",
    "channel-reserved": r"ChannelName",
    "metric-pattern": r"MetricDefinitions",
    "private-registry": r"TrainingImageConfig",
    "argument-reserved": _ARGUMENTS,
    "credential": _ARGUMENTS,
    "script-missing": _SCRIPT,
    "script-outside-source": _SCRIPT,
    "script-and-module": _SCRIPT,
    "module-missing": _SCRIPT,
}


def check(
    document: Mapping[str, Any],
    world_size: int | None = None,
    allowed_values: frozenset[str] = frozenset(),
) -> list[Problem]:
    """Every rule that ``document`` breaks, each with its path in the document.

    Args:
        world_size: What the caller expects, where it says so (``--world-size``).
        allowed_values: Names whose values may look like credentials (``--allow-value``).

    A rule about our own way of starting is an error in a document that carries
    LAUNCH_WORLD_SIZE, and a warning in any other.
    """
    problems = service_model.MODEL.check(document)
    problems += check_fields(document)
    problems += check_data(document)
    problems += check_places(document)
    problems += [] if is_ours(document) else check_registry(document)
    start, ours = start_of(document), is_ours(document)
    problems += check_machines(document, start, ours)
    problems += check_world_size(document, start, world_size, ours)
    problems += check_start(document, ours)
    for section in _NAMED_VALUES:
        values = {
            str(name): value
            for name, value in _named_values(document, section).items()
            if isinstance(value, str)
        }
        problems += problems_in_environment(values, f"$.{section}", allowed_values)
    skip = frozenset(f"$.{section}" for section in _NAMED_VALUES)
    problems += problems_anywhere(document, skip=skip, allowed=allowed_values)
    return one_a_number(problems)


def _named_values(document: Mapping[str, Any], section: str) -> Mapping[Any, Any]:
    if section == "Tags":
        return {str(tag.get("Key")): tag.get("Value") for tag in entries(document, section)}
    return mapping(document, section)


def is_ours(document: object) -> bool:
    """Whether the document says itself how many ranks it expects, as ours do."""
    return at(document, "Environment", "LAUNCH_WORLD_SIZE") is not None
