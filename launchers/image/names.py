"""Our images on this machine: their names and their labels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from launchers import DISTRIBUTION
from launchers.core.model.problems import LaunchError
from launchers.core.sdk.installed import installed_version
from launchers.docker.engine import engine
from launchers.docker.images import images_of
from launchers.image.catalogue import RULES
from launchers.image.recipes import HOROVOD, recipe_digest

if TYPE_CHECKING:
    import docker

# The digest of the files that the image was built from; its presence marks an image as ours.
RECIPE_LABEL = "launch.image.recipe"
# "0" or "1"; the Dockerfile sets it.
GPU_LABEL = "launch.image.gpu"
# The recipe's name; an image with Horovod has none.
WITH_LABEL = "launch.image.with"
# The recipe of a layer over such an image; the Dockerfile sets it.
LAYER_LABEL = "launch.image.layer"
# The stage that a build throws away; the Dockerfiles set it.
STAGE_LABEL = "launch.image.stage"
# A digest of everything that decides what a build makes: an image with the same is not built again.
INPUTS_LABEL = "launch.image.inputs"


# Docker's grammar of a name with its tag. Source: github.com/distribution/reference, reference.go.
_PATH = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9A-Fa-f:]+\])(?::\d+)?"
_NAME = re.compile(rf"(?:{_HOST}/)?{_PATH}(?:/{_PATH})*(?::\w[\w.-]{{0,127}})?", re.ASCII)
_LONGEST = 255


def check_tag(tag: str) -> None:
    """Passes where an image can have that name.

    Raises:
        LaunchError: None can.
    """
    if not _NAME.fullmatch(tag) or len(tag) > _LONGEST:
        expected = "NAME or NAME:TAG in small letters, such as team/horovod:1"
        raise LaunchError(RULES["image-name"].at("--tag", tag[:100], expected))


def repository(recipe: str = HOROVOD) -> str:
    """The name of our images without its tag: ``launch-horovod``."""
    return f"launch-{recipe}"


REPOSITORY = repository()


def version() -> str:
    """The launcher's, which is that of its images, too."""
    return installed_version(DISTRIBUTION) or "dev"


def default_tag(gpu: bool = False, recipe: str = HOROVOD) -> str:
    """The name that `launch image build` gives: ``launch-horovod:<version>``, ``...-gpu``."""
    return f"{repository(recipe)}:{version().replace('+', '-')}{'-gpu' if gpu else ''}"


def recipe_of(labels: Mapping[str, str]) -> str:
    """The recipe that one of our images was built from last."""
    return labels.get(LAYER_LABEL) or labels.get(WITH_LABEL, HOROVOD)


def made_for(client: docker.DockerClient, image: str) -> str:
    """What the ranks of one of our images train by, by its label; Horovod for any other image, and
    for a name that no image of this machine has."""
    import docker.errors

    try:
        return str(client.images.get(image).labels.get(WITH_LABEL, HOROVOD))
    except docker.errors.DockerException:
        return HOROVOD


def default_image(
    client: docker.DockerClient | None = None, gpu: bool = False, recipe: str = HOROVOD
) -> str | None:
    """The newest image of ours on this machine, by its label; None where there is none.

    One that was built from the recipe of this installation goes before a newer one that was not.

    Args:
        client: A connection to use; without one, one is made and closed.
        gpu: Look for the GPU variant instead of the CPU one.
        recipe: What it was built with.

    Raises:
        LaunchError: No Docker engine answers (only where ``client`` is None).
    """
    if client is None:
        own = engine()
        try:
            return default_image(own, gpu, recipe)
        finally:
            own.close()
    labels = [RECIPE_LABEL, f"{GPU_LABEL}={int(gpu)}"]
    found = [
        image
        for image in images_of(client, labels)
        if image.tags and recipe_of(image.labels) == recipe
    ]
    current = recipe_digest(recipe=recipe)
    best = max(
        found,
        key=lambda image: (image.labels[RECIPE_LABEL] == current, image.attrs["Created"]),
        default=None,
    )
    return None if best is None else str(best.tags[0])
