"""Which image a job gets: the user's own, or what `launch image build --push` pushed last.

No prebuilt training image of Vertex AI carries Horovod, so there is no default that works for
everybody. Of its PyTorch and TensorFlow images the user picks one by --image: which versions there
are changes by Google's schedule, not by ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from launchers.core.model.problems import Problem
from launchers.core.records.pushed_image import last_pushed
from launchers.core.strategies import ALONE, FIRST
from launchers.core.strategies.strategy import Strategy
from launchers.vertex.catalogue import RULES
from launchers.vertex.document import CLOSED, PLACEHOLDER_IMAGE
from launchers.vertex.options import VertexJob
from launchers.vertex.planning.account import Account

# HOST/PATH with a tag or a digest; a registry's own rules are stricter.
_REFERENCE = re.compile(
    r"[\w.:-]+(/[\w.-]+)+(:[\w][\w.-]{0,127})?(@sha256:[0-9a-f]{64})?", re.ASCII
)


@dataclass(frozen=True)
class ImageChoice:
    """The image's address and where the choice came from."""

    uri: str
    origin: str
    problems: tuple[Problem, ...] = ()

    @property
    def is_placeholder(self) -> bool:
        """Whether there is none yet."""
        return self.uri == PLACEHOLDER_IMAGE


def choose_image(job: VertexJob, strategy: Strategy) -> ImageChoice:
    """``--image`` as it is, else what was pushed last for ``strategy`` to a registry that Vertex AI
    can read; one rank alone gets the image of the first strategy."""
    if job.image is not None:
        origin = job.origin("image", "--image")
        return ImageChoice(job.image, origin, tuple(_problems(job.image)))
    name = strategy.name if strategy.library else FIRST
    pushed = last_pushed(name)
    if pushed and not CLOSED.fullmatch(pushed.partition("/")[0].partition(":")[0]):
        return ImageChoice(pushed, "what `launch image build --push` pushed last")
    if name == FIRST:
        return ImageChoice(PLACEHOLDER_IMAGE, "placeholder: no prebuilt image carries Horovod")
    why = f"placeholder: --image with {strategy.library}, one of Google's prebuilt ones or your own"
    return ImageChoice(PLACEHOLDER_IMAGE, why)


def build_line(account: Account, strategy: str = FIRST) -> str:
    """The line that builds our image for ``strategy`` and pushes it where the job's location is."""
    project = "PROJECT" if account.project_is_placeholder else account.project
    location = "LOCATION" if account.location_is_assumed else account.location
    # A project of a domain, example.com:project, is a path there.
    path = project.replace(":", "/")
    kind = "" if strategy in (FIRST, ALONE) else f"--with {strategy} "
    name = FIRST if strategy == ALONE else strategy
    return f"launch image build {kind}--push {location}-docker.pkg.dev/{path}/REPO/launch-{name}"


def image_missing(account: Account, strategy: str = FIRST) -> Problem:
    """A submission without an image."""
    return RULES["image-missing"].at(
        "--image",
        "none, and none was pushed from this machine",
        fix=f"build and push ours: {build_line(account, strategy)}",
    )


def _problems(uri: str) -> list[Problem]:
    if _is_amazons(uri):
        return [
            _problem(
                uri,
                "an image in Artifact Registry or Docker Hub",
                "Vertex AI cannot read Amazon's registry",
            )
        ]
    name = uri.rpartition("/")[2]
    if not re.search(r"[:@]", name):
        return [_problem(f"{uri} without a tag", "IMAGE:TAG or IMAGE@sha256:DIGEST", f"{uri}:TAG")]
    if not _REFERENCE.fullmatch(uri) and not _REFERENCE.fullmatch(f"docker.io/{uri}"):
        return [_problem(uri, "HOST/PATH:TAG or HOST/PATH@sha256:DIGEST", "")]
    return []


def _is_amazons(uri: str) -> bool:
    return ".dkr.ecr." in uri.partition("/")[0]


def _problem(found: str, expected: str, fix: str) -> Problem:
    return RULES["image-address"].at("--image", found, expected, fix)
