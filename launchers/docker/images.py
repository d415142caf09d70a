"""The images that an engine holds."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import docker
    from docker.models.images import Image


def images_of(client: docker.DockerClient, labels: Sequence[str] = ()) -> Iterator[Image]:
    """Each image on this engine that has all ``labels`` (KEY or KEY=VALUE), the newest first.

    ``client.images.list`` does the same, but raises where somebody removes an image between the
    engine's list and the question for that image.

    Raises:
        docker.errors.APIError: The engine refused to list them.
    """
    import docker.errors

    for listed in client.api.images(filters={"label": list(labels)}):
        with contextlib.suppress(docker.errors.ImageNotFound):
            yield client.images.get(listed["Id"])
