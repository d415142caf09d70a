"""Whether the images of a job's replicas are where its document says."""

from __future__ import annotations

import re
from urllib.parse import quote

from launchers.core.cloud.errors import with_retries
from launchers.core.cloud.preflight import good, how_to_push, unknown, wrong
from launchers.core.model.problems import Problem
from launchers.vertex.service.session import GOOGLE_ERRORS, Session, is_missing

# A name in Artifact Registry: LOCATION-docker.pkg.dev/PROJECT/REPOSITORY/IMAGE[:TAG][@DIGEST]. A
# project of a domain, example.com:project, is two parts of it.
_IMAGE = re.compile(
    r"(?P<location>[a-z0-9-]+)-docker\.pkg\.dev/(?P<project>[^/.]+\.[^/]+/[^/]+|[^/]+)/"
    r"(?P<repository>[^/]+)/(?P<image>[^:@]+)(?::(?P<tag>[^@]+))?(?:@(?P<digest>sha256:[0-9a-f]+))?"
)
# Google's own images, which every job may read and few people may list.
_GOOGLES = ("vertex-ai", "vertex-ai-restricted", "deeplearning-platform-release")


def image_answer(session: Session, uri: str) -> Problem:
    """Whether that image is there. Blocks for a request.

    Raises:
        Exception: One of the cloud's errors.
    """
    match = _IMAGE.fullmatch(uri)
    if match is None:
        return unknown("image", f"{uri} is not in Artifact Registry")
    if match["project"] in _GOOGLES:
        return unknown("image", f"{match['image']} is Google's own")
    project = match["project"].replace("/", ":")
    base = f"v1/projects/{project}/locations/{match['location']}/repositories/{match['repository']}"
    package = quote(match["image"], safe="")
    path = (
        f"{base}/dockerImages/{package}@{match['digest']}"
        if match["digest"]
        else f"{base}/packages/{package}/tags/{match['tag'] or 'latest'}"
    )
    try:
        with_retries(session, lambda: session.get("artifactregistry", path))
    except GOOGLE_ERRORS as error:
        if not is_missing(error):
            raise
        fix = f"{how_to_push(uri)}; `gcloud artifacts docker images list` shows what is there"
        return wrong("image", f"{uri} does not exist", "an image in the registry", fix)
    return good("image", f"{match['image']} is in the registry")
