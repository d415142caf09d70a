"""The bill of materials that a build leaves in its image, as a file of this machine."""

from __future__ import annotations

import io
import json
import os
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

from launchers.core.model.problems import LaunchError
from launchers.image.catalogue import RULES

if TYPE_CHECKING:
    import docker

# The Dockerfiles write it there.
IN_IMAGE = "/opt/launch/sbom.cdx.json"


def sbom_of(client: docker.DockerClient, image: str) -> bytes:
    """The image's own bill, read without starting anything in it.

    Raises:
        LaunchError: It holds none.
    """
    import docker.errors

    # The command is never run; an image without one needs it to become a container.
    container = client.containers.create(image, command=["true"], network_mode="none")
    try:
        stream, _ = container.get_archive(IN_IMAGE)
        with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as archive:
            file = archive.extractfile(archive.getmembers()[0])
            assert file is not None
            return file.read()
    except docker.errors.NotFound:
        raise LaunchError(
            RULES["image-no-sbom"].at("--sbom", f"{image} has no {IN_IMAGE}")
        ) from None
    finally:
        container.remove(v=True, force=True)


def check_place(path: Path) -> None:
    """See that ``path`` can become a file.

    Raises:
        LaunchError: Its folder is not there, or it is a folder itself.
    """
    if path.is_dir():
        raise LaunchError(RULES["image-sbom-file"].at("--sbom", f"{path}: is a folder"))
    if not path.parent.is_dir():
        found = f"{path}: {path.parent} is not there"
        raise LaunchError(RULES["image-sbom-file"].at("--sbom", found))
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise LaunchError(RULES["image-sbom-file"].at("--sbom", f"{path}: may not be written"))


def save_sbom(client: docker.DockerClient, image: str, path: Path) -> int:
    """Write the image's bill to ``path``; gives the number of its components.

    Raises:
        LaunchError: It holds none, or the file cannot be written.
    """
    content = sbom_of(client, image)
    try:
        path.write_bytes(content)
    except OSError as error:
        raise LaunchError(
            RULES["image-sbom-file"].at("--sbom", f"{path}: {error.strerror}")
        ) from None
    return len(json.loads(content)["components"])
