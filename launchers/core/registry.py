"""The table that finds a provider by its name; its module is imported on use."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from launchers.core.catalogue import RULES
from launchers.core.model.problems import LaunchError, did_you_mean

if TYPE_CHECKING:  # a list of jobs that have ended needs no provider
    from launchers.core.prerequisites import Doctor
    from launchers.core.provider import Provider

Role = TypeVar("Role")

# name -> dotted path of its Provider, imported on use
PROVIDERS = {
    "local": "launchers.local.launcher:LOCAL",
    "sagemaker": "launchers.sagemaker.launcher:SAGEMAKER",
    "vertex": "launchers.vertex.launcher:VERTEX",
    "spark": "launchers.spark.launcher:SPARK",
}

# subject of `launch doctor` -> dotted path of its Doctor, imported on use
DOCTORS = {
    "local": "launchers.local.doctor.doctor:LocalDoctor",
    "spark": "launchers.spark.doctor:SparkDoctor",
    "docker": "launchers.rehearsal.doctor:DockerDoctor",
    "sagemaker": "launchers.sagemaker.doctor:SageMakerDoctor",
    "vertex": "launchers.vertex.doctor:VertexDoctor",
}


def provider(name: str) -> Provider:
    """The provider of that name, its module imported now.

    Raises:
        LaunchError: There is none.
    """
    if name not in PROVIDERS:
        raise LaunchError(
            RULES["provider-unknown"].at(
                "provider", name, "one of " + ", ".join(PROVIDERS), did_you_mean(name, PROVIDERS)
            )
        )
    module, _, attribute = PROVIDERS[name].partition(":")
    found: Provider = getattr(importlib.import_module(module), attribute)
    return found


def doctor(subject: str) -> Doctor:
    """Who knows what that subject of :data:`DOCTORS` needs, its module imported now."""
    module, _, attribute = DOCTORS[subject].partition(":")
    found: type[Doctor] = getattr(importlib.import_module(module), attribute)
    return found()


def data_files(name: str) -> list[Path]:
    """The providers' own data files of that name; no module of theirs is imported."""
    launchers = Path(__file__).resolve().parent.parent
    folders = [launchers / place.split(".")[1] for place in PROVIDERS.values()]
    return [folder / name for folder in folders if (folder / name).is_file()]


def providers_with(role: Callable[[Provider], Role | None]) -> dict[str, Role]:
    """A role of the providers that play it, by their names.

    Example:
        >>> list(providers_with(lambda one: one.catalogue))
        ['sagemaker', 'vertex']
    """
    every = ((name, role(provider(name))) for name in PROVIDERS)
    return {name: played for name, played in every if played is not None}
