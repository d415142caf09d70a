"""What a build leaves in the engine beside its image: its stage, the image that it replaced."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from launchers.image import names

if TYPE_CHECKING:
    import docker

# Seconds that an engine may take over one image.
REMOVAL_SECONDS = 900.0


def remove_leftovers(
    client: docker.DockerClient, identifiers: Iterable[str], base_size: int = 0
) -> int:
    """Remove those of these images that are ours and have no name; gives the bytes of their layers.
    May block for minutes: a busy disk takes long over gigabytes of small files.

    One that a container runs, that has a name, or from which another image was made stays. A second
    call is safe.

    Args:
        identifiers: Of images, short or whole.
        base_size: Bytes of the layers that all of them begin with, which stay.
    """
    from docker.errors import APIError
    from requests.exceptions import Timeout

    freed = 0
    for identifier in identifiers:
        try:
            freed += _removed(client, identifier, base_size)
        except APIError:  # gone meanwhile, or in use
            continue
        except Timeout:  # it goes on without us, and answers nothing else meanwhile
            break
    return freed


def _removed(client: docker.DockerClient, identifier: str, base_size: int) -> int:
    image = client.images.get(identifier)
    attributes = image.attrs
    ours = names.STAGE_LABEL in image.labels or names.RECIPE_LABEL in image.labels
    if not ours or attributes.get("RepoTags") or attributes.get("RepoDigests"):
        return 0
    usual, client.api.timeout = client.api.timeout, REMOVAL_SECONDS
    try:
        client.images.remove(image.id)
    finally:
        client.api.timeout = usual
    return max(0, int(attributes["Size"]) - base_size)
