"""The image's address: its form, and whether Vertex AI can pull it and finds Horovod in it.

Source: Vertex AI's page on custom containers ("push it to Artifact Registry or Docker Hub"), and
its list of prebuilt containers, of which none was found to carry Horovod.
"""

from __future__ import annotations

import re

from launchers.core.model.problems import Problem, Severity
from launchers.vertex.catalogue import RULES
from launchers.vertex.document import CLOSED, PLACEHOLDER_IMAGE
from launchers.vertex.rules.pools import Pool

_NAME = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_ADDRESS = re.compile(
    r"(?:(?P<registry>[A-Za-z0-9.-]+(?::\d+)?)/)??"
    rf"(?P<path>{_NAME}(?:/{_NAME})*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?P<digest>@sha256:[0-9a-f]{64})?",
    re.ASCII,
)
_GOOGLES = re.compile(r"[a-z0-9-]+-docker\.pkg\.dev|(?:[a-z]+\.)?gcr\.io")
_DOCKER_HUB = ("docker.io", "index.docker.io", "registry-1.docker.io")
# What Google itself provides: its tags are Google's to choose, and none carries Horovod.
_PREBUILT = re.compile(r"(?:[a-z]+-docker\.pkg\.dev/vertex-ai|gcr\.io/cloud-aiplatform)/.*")
_REDUCTION_SERVER = "vertex-ai-restricted/training/reductionserver"


def check_image(pool: Pool, horovod_is_meant: bool) -> list[Problem]:
    """Rules over one pool's image.

    Args:
        horovod_is_meant: Whether what starts there needs Horovod in the image.
    """
    image = pool.image
    if not image or image == PLACEHOLDER_IMAGE:
        return []
    key = "imageUri" if "containerSpec" in pool.spec else "executorImageUri"
    path = f"{pool.task_path}.{key}"
    registry, rest = _split(image)
    match = _ADDRESS.fullmatch(rest)
    if match is None or match["registry"]:
        expected = "REGION-docker.pkg.dev/PROJECT/REPOSITORY/IMAGE:TAG"
        return [RULES["image-address"].at(path, image[:100], expected)]
    problems = _pulled(path, registry, image)
    if _PREBUILT.fullmatch(image):
        if horovod_is_meant:
            problems.append(_without_horovod(path, image))
    elif _REDUCTION_SERVER not in image and match["digest"] is None:
        problems += _tag(path, match["tag"])
    return problems


def is_reduction_server(pool: Pool) -> bool:
    """Whether the pool runs Google's reduction server."""
    return _REDUCTION_SERVER in pool.image


def _split(image: str) -> tuple[str, str]:
    """The registry, empty for Docker Hub's own short form, and the rest, as Docker divides them:
    the first part is a registry if it has a dot or a colon, or is localhost."""
    first, slash, rest = image.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return first, rest
    return "", image


def _pulled(path: str, registry: str, image: str) -> list[Problem]:
    if _GOOGLES.fullmatch(registry):
        return []
    expected = "an image in Artifact Registry, or a public one on Docker Hub"
    fix = "launch image build --push REGION-docker.pkg.dev/PROJECT/REPOSITORY/IMAGE:TAG"
    if not registry or registry in _DOCKER_HUB:
        found = f"{image[:80]}, which is looked for on Docker Hub"
        return [RULES["image-registry"].at(path, found, expected, fix, severity="warning")]
    closed = CLOSED.fullmatch(registry.partition(":")[0])
    severity: Severity = "error" if closed else "warning"
    return [
        RULES["image-registry"].at(
            path, f"the registry {registry}", expected, fix, severity=severity
        )
    ]


def _tag(path: str, tag: str | None) -> list[Problem]:
    if tag not in (None, "latest"):
        return []
    found = "the tag latest" if tag else "no tag, which means latest"
    return [RULES["image-tag"].at(path, found)]


def _without_horovod(path: str, image: str) -> Problem:
    return RULES["image-horovod"].at(
        path,
        f"{image[:80]}, a prebuilt image without Horovod",
        fix="launch image build --push REGION-docker.pkg.dev/PROJECT/REPOSITORY/IMAGE:TAG",
    )
