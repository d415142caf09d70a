"""`launch image build`: the request, the build followed, what came out of it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from launchers.core.model.problems import EXIT_JOB_DID_NOT_SUCCEED, LaunchError
from launchers.core.paths import images_folder
from launchers.docker.images import images_of
from launchers.docker.progress import Progress
from launchers.image import names, probe
from launchers.image.base_image import CPU_BASE, have_base, need_room
from launchers.image.build_context import context, files_of
from launchers.image.catalogue import RULES
from launchers.image.host_settings import HostSettings
from launchers.image.labels import inputs_digest, labels_of
from launchers.image.leftovers import remove_leftovers
from launchers.image.probe_container import NoAnswerError, answer_of
from launchers.image.recipes import HOROVOD, RECIPES, recipe_digest
from launchers.image.steps import BuildStream, LayerGoneError

if TYPE_CHECKING:
    import docker
    from docker.models.images import Image

# (final image, build stage). The CPU pins are those of TensorFlow 2.18, whose CUDA wheels are
# 12.5; NVIDIA's images on Ubuntu 24.04, which has a Python that the pins allow, begin with 12.6.
GPU_BASES = ("nvidia/cuda:12.6.3-base-ubuntu24.04", "nvidia/cuda:12.6.3-devel-ubuntu24.04")
# The machines with GPUs of both clouds.
ARCHITECTURE = "amd64"
VERSIONS_SECONDS = 120.0
ATTEMPTS = 3


@dataclass(frozen=True)
class BuildRequest:
    """What to build.

    Attributes:
        base: What the final image and the build stage begin with; None for ours.
        tag: The image's name; None for ours.
        recipe: A name of :data:`~launchers.image.recipes.RECIPES`.
        requirements: The content of the user's own file, or nothing; not with Horovod.
        is_anew: Build every layer, though the engine has it.
        keeps_stage: Leave the build stage in the engine, where the next build finds its layers.
    """

    gpu: bool = False
    base: str | None = None
    tag: str | None = None
    recipe: str = HOROVOD
    requirements: bytes = b""
    is_anew: bool = False
    keeps_stage: bool = False

    @property
    def bases(self) -> tuple[str, str]:
        """The image that the final one begins with, and that of the build stage."""
        begins_with = RECIPES[self.recipe].begins_with
        if self.base or begins_with:
            base = self.base or names.default_tag(self.gpu, begins_with)
            return base, base
        with_cuda = self.gpu and RECIPES[self.recipe].gpu_base
        return GPU_BASES if with_cuda else (CPU_BASE, CPU_BASE)

    @property
    def name(self) -> str:
        """The tag that the image gets."""
        return self.tag or names.default_tag(self.gpu, self.recipe)


@dataclass(frozen=True)
class BuiltImage:
    """What a build made.

    Attributes:
        size: Bytes, all layers.
        versions: Program or package to its version, as found in the image.
        seconds: Wall-clock time of the build.
        cached: Whether it was there already, with every layer.
        freed: Bytes of what was removed: the build stage, and the image that had the name before.
    """

    tag: str
    id: str
    size: int
    architecture: str
    versions: Mapping[str, str]
    seconds: float
    cached: bool
    freed: int = 0


def build(
    client: docker.DockerClient,
    request: BuildRequest,
    host: HostSettings,
    progress: Progress,
    folder: Path | None = None,
) -> BuiltImage:
    """Build the image; blocks for minutes, or for a second where it is there already.

    A second call is safe. An interrupted one leaves the layers that were done.

    Args:
        folder: The recipe; the one that the installation carries where None.

    Raises:
        LaunchError: The base cannot be had, the disk is too full, or a step failed.
    """
    folder = folder or images_folder()
    files = files_of(folder, request.recipe, request.requirements)
    started = time.monotonic()
    before = _image(client, request.name)
    # A base of the user's own may hold all of it.
    if not before and not (request.base and request.recipe != HOROVOD):
        need_room(client, RECIPES[request.recipe].room[request.gpu])
    bases = [
        have_base(client, base, request.base is not None, progress, _builder_of_base(request))
        for base in dict.fromkeys(request.bases)
    ]
    digest = recipe_digest(folder, request.recipe)
    labels = labels_of(request.recipe, digest, request.bases[0], bases[0])
    decisive = {"base": bases[-1].id, **_arguments(request)}
    labels[names.INPUTS_LABEL] = inputs_digest(labels, decisive, request.requirements)
    if not request.is_anew and (same := _same(client, labels, request.name)):
        return _built(client, request, same, started, progress, cached=True)
    stream = _run(client, request, host, labels, files, progress)
    image = client.images.get(stream.image or request.name)
    left = [] if request.keeps_stage else stream.stages
    if before and before.id != image.id:
        left = [*left, str(before.id)]
    freed = remove_leftovers(client, left, min(int(base.attrs["Size"]) for base in bases))
    return _built(client, request, image, started, progress, stream.cached, freed)


def _builder_of_base(request: BuildRequest) -> str:
    """The command that makes the base, where it is an image of ours."""
    if request.base or not RECIPES[request.recipe].begins_with:
        return ""
    return "launch image build --gpu" if request.gpu else "launch image build"


def _run(
    client: docker.DockerClient,
    request: BuildRequest,
    host: HostSettings,
    labels: Mapping[str, str],
    files: Mapping[str, bytes],
    progress: Progress,
) -> BuildStream:
    """What the engine told of a build that worked; begun again where its cache was cleared."""
    for _ in range(ATTEMPTS):
        stream = BuildStream(files["Dockerfile"].decode(), progress)
        try:
            _follow(client, request, host, labels, files, stream)
            return stream
        except LayerGoneError as error:
            gone = str(error)
            progress.keep("what the build stood on was removed meanwhile; building again")
    raise LaunchError(
        RULES["image-build-refused"].at("image build", f"{gone}, {ATTEMPTS} times"),
        EXIT_JOB_DID_NOT_SUCCEED,
    )


def _follow(
    client: docker.DockerClient,
    request: BuildRequest,
    host: HostSettings,
    labels: Mapping[str, str],
    files: Mapping[str, bytes],
    stream: BuildStream,
) -> None:
    import docker.errors

    try:
        stream.follow(
            client.api.build(
                fileobj=context(files, host),
                custom_context=True,
                tag=request.name,
                buildargs={**_arguments(request), **host.proxies},
                labels=dict(labels),
                network_mode=host.network,
                nocache=request.is_anew,
                rm=True,
                forcerm=True,
                decode=True,
                timeout=None,
            )
        )
    except docker.errors.DockerException as error:
        raise LaunchError(
            RULES["image-build-refused"].at("image build", str(error)),
            EXIT_JOB_DID_NOT_SUCCEED,
        ) from None


def _built(
    client: docker.DockerClient,
    request: BuildRequest,
    image: Image,
    started: float,
    progress: Progress,
    cached: bool,
    freed: int = 0,
) -> BuiltImage:
    seconds = time.monotonic() - started
    progress.step("Check the contents")
    return BuiltImage(
        tag=request.name,
        id=str(image.id),
        size=int(image.attrs["Size"]),
        architecture=str(image.attrs["Architecture"]),
        versions=_versions(client, str(image.id)),
        seconds=seconds,
        cached=cached,
        freed=freed,
    )


def _image(client: docker.DockerClient, name: str) -> Image | None:
    import docker.errors

    try:
        return client.images.get(name)
    except docker.errors.DockerException:
        return None


def _same(client: docker.DockerClient, labels: Mapping[str, str], name: str) -> Image | None:
    """An image that was built of the same, under ``name`` from now on."""
    import docker.errors

    same = f"{names.INPUTS_LABEL}={labels[names.INPUTS_LABEL]}"
    for image in images_of(client, [same]):
        # Somebody may remove it meanwhile.
        with contextlib.suppress(docker.errors.ImageNotFound):
            # One that begins with ours has its labels, too; in ours they are what was done last.
            if same in str(image.history()[: len(labels)]):
                image.tag(name)
                return image
    return None


def _versions(client: docker.DockerClient, identifier: str) -> dict[str, str]:
    try:
        return answer_of(client, identifier, probe.source("versions"), VERSIONS_SECONDS)
    except NoAnswerError as error:
        raise LaunchError(
            RULES["image-python"].at("image build", str(error), "a Python in the built image"),
            EXIT_JOB_DID_NOT_SUCCEED,
        ) from None


def _arguments(request: BuildRequest) -> dict[str, str]:
    final, compiling = request.bases
    given = {"BASE": final, "GPU": str(int(request.gpu))}
    if request.recipe == HOROVOD:
        return {"BUILD_BASE": compiling, **given}
    if RECIPES[request.recipe].begins_with:
        return given
    extra = RECIPES[request.recipe].gpu_extra if request.gpu else ""
    return {"FRAMEWORK": request.recipe, "EXTRA": extra, **given}
