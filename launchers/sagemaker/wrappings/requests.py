"""A request as it is found: made whole, and named by what it lies in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from launchers.core.model.unknown import Unknown
from launchers.core.wrappings.places import Places
from launchers.core.wrappings.spec import Spec

NAME = "TrainingJobName"
# Keys that no other service's documents have.
SIGNS = (
    "AlgorithmSpecification",
    "TrainingJobName",
    "HyperParameters",
    "InputDataConfig",
    "ResourceConfig",
    "RoleArn",
)
# What stands in a request of which nothing is known.
_NEEDED = (
    "AlgorithmSpecification",
    "Environment",
    "HyperParameters",
    "OutputDataConfig",
    "ResourceConfig",
    "RoleArn",
    "StoppingCondition",
)


def is_request(node: object) -> bool:
    """Whether it has enough of a request's keys to be no accident."""
    return isinstance(node, Mapping) and sum(key in node for key in SIGNS) > 1


def request(document: Mapping[str, Any], places: Places, kind: str, named_by: str = "") -> Spec:
    """The spec of a request.

    Args:
        named_by: Who names each job, where the request need not.
    """
    if named_by and NAME not in document:
        document = {NAME: Unknown(f"a name by {named_by}"), **document}
    return Spec("sagemaker", document, places, kind)


def open_request(unknown: Unknown, place: str, kind: str) -> Spec:
    """The spec of a request that is an expression as a whole."""
    every = dict.fromkeys((NAME, *_NEEDED), unknown)
    return Spec("sagemaker", every, Places(place, {(key,): place for key in every}), kind)
