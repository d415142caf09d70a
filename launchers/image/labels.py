"""The labels of an image that we build: the OCI's, and our own by which builds are known again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from launchers.image import names
from launchers.image.recipes import RECIPES

# github.com/opencontainers/image-spec, annotations.md. Left out: `created`, since the image
# has a field for it; `licenses`, of which packages have many (they stand in the SBOM).
_OCI = "org.opencontainers.image."


def labels_of(recipe: str, digest: str, base: str, base_image: Any) -> dict[str, str]:
    """What every build from this recipe and this base carries.

    Args:
        recipe: A name of :data:`~launchers.image.recipes.RECIPES`.
        digest: The recipe's.
        base: As it was named.
        base_image: As the engine has it.
    """
    labels = {
        f"{_OCI}title": names.repository(recipe),
        f"{_OCI}description": f"{RECIPES[recipe].title}, for training jobs that launch starts",
        f"{_OCI}version": names.version(),
        f"{_OCI}base.name": base,
        names.RECIPE_LABEL: digest,
        # An image that came from no registry has no digest but this one.
        f"{names.RECIPE_LABEL}.base": str(base_image.id),
    }
    digests = base_image.attrs.get("RepoDigests") or ()
    if digests:
        labels[f"{_OCI}base.digest"] = str(digests[0]).partition("@")[2]
    return labels


def inputs_digest(labels: Mapping[str, str], arguments: Mapping[str, str], more: bytes) -> str:
    """One of everything that decides what is built, but the package indexes' own content.

    Args:
        arguments: Of the build.
        more: Further bytes that it is given.
    """
    text = json.dumps([dict(labels), dict(arguments)], sort_keys=True)
    return hashlib.sha256(text.encode() + b"\0" + more).hexdigest()[:16]
