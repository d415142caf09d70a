"""What a build leaves in the engine beside its image: its stage, the image that it replaced."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from launchers.image import names

if TYPE_CHECKING:
    import docker


def remove_leftovers(
    client: docker.DockerClient, identifiers: Iterable[str], base_size: int = 0
) -> int:
    """Remove those of these images that are ours and have no name; gives the bytes of their layers.

    One that a container runs, that has a name, or from which another image was made stays. A second
    call is safe.

    Args:
        identifiers: Of images, short or whole.
        base_size: Bytes of the layers that all of them begin with, which stay.
    """
    import docker.errors

    freed = 0
    for identifier in identifiers:
        try:
            image = client.images.get(identifier)
            attributes = image.attrs
            ours = names.STAGE_LABEL in image.labels or names.RECIPE_LABEL in image.labels
            if not ours or attributes.get("RepoTags") or attributes.get("RepoDigests"):
                continue
            client.images.remove(image.id)
            freed += max(0, int(attributes["Size"]) - base_size)
        except docker.errors.APIError:  # gone meanwhile, or in use
            continue
    return freed
