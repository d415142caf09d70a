"""The table that finds a provider by its name; its module is imported on use."""

from __future__ import annotations

import importlib

from launchers.core.model.problems import LaunchError, Problem, did_you_mean
from launchers.core.provider import Provider

# name -> dotted path of its Provider, imported on use
PROVIDERS = {
    "local": "launchers.local.launcher:LocalProvider",
    "sagemaker": "launchers.sagemaker.launcher:SageMakerProvider",
    "vertex": "launchers.vertex.launcher:VertexProvider",
}


def provider(name: str) -> Provider:
    """The provider of that name, its module imported now.

    Raises:
        LaunchError: There is none.
    """
    if name not in PROVIDERS:
        raise LaunchError(
            Problem(
                "provider",
                name,
                "one of " + ", ".join(PROVIDERS),
                did_you_mean(name, PROVIDERS),
                rule="provider-unknown",
            )
        )
    module, _, attribute = PROVIDERS[name].partition(":")
    found: type[Provider] = getattr(importlib.import_module(module), attribute)
    return found()


def having(power: str) -> list[str]:
    """The names of the providers that declare a capability, or have documents (``documents``)."""
    found = []
    for name in PROVIDERS:
        chosen = provider(name)
        declared = chosen.document_title if power == "documents" else power in chosen.capabilities
        if declared:
            found.append(name)
    return found
