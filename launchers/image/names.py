"""Our image on this machine: its names and its labels."""

from __future__ import annotations

import hashlib
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from launchers.core.paths import images_folder
from launchers.docker.engine import engine

if TYPE_CHECKING:
    import docker

REPOSITORY = "launch-horovod"
# The digest of the files that the image was built from; its presence marks an image as ours.
RECIPE_LABEL = "launch.image.recipe"
# "0" or "1"; the Dockerfile sets it.
GPU_LABEL = "launch.image.gpu"
# The part of the recipe that the host's own settings replace, so no part of its digest.
HOST_FOLDER = "host"


def default_tag(gpu: bool = False) -> str:
    """The name that `launch image build` gives: ``launch-horovod:<version>``, ``...-gpu``."""
    try:
        version = metadata.version("launch")
    except metadata.PackageNotFoundError:
        version = "dev"
    return f"{REPOSITORY}:{version.replace('+', '-')}{'-gpu' if gpu else ''}"


def default_image(client: docker.DockerClient | None = None, gpu: bool = False) -> str | None:
    """The newest image of ours on this machine, by its label; None where there is none.

    One that was built from the recipe of this installation goes before a newer one that was not.

    Args:
        client: A connection to use; without one, one is made and closed.
        gpu: Look for the GPU variant instead of the CPU one.

    Raises:
        LaunchError: No Docker engine answers (only where ``client`` is None).
    """
    if client is None:
        own = engine()
        try:
            return default_image(own, gpu)
        finally:
            own.close()
    labels = [RECIPE_LABEL, f"{GPU_LABEL}={int(gpu)}"]
    found = [image for image in client.images.list(filters={"label": labels}) if image.tags]
    recipe = recipe_digest()
    best = max(
        found,
        key=lambda image: (image.labels[RECIPE_LABEL] == recipe, image.attrs["Created"]),
        default=None,
    )
    return None if best is None else str(best.tags[0])


def recipe_files(folder: Path) -> dict[str, bytes]:
    """The files that a build reads, by their path in ``folder``, sorted."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def recipe_digest(folder: Path | None = None) -> str:
    """A digest of the recipe: an image whose label differs is stale."""
    total = hashlib.sha256()
    for name, content in recipe_files(folder or images_folder()).items():
        if not name.startswith(f"{HOST_FOLDER}/"):
            total.update(f"{name}\0{len(content)}\0".encode() + content)
    return total.hexdigest()[:16]
