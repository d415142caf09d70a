"""`launch image build`: the context made in memory, the build followed, what came out of it."""

from __future__ import annotations

import io
import shutil
import tarfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from launchers.core.model.problems import EXIT_JOB_DID_NOT_SUCCEED, LaunchError
from launchers.core.paths import images_folder
from launchers.docker.progress import Progress, size_text
from launchers.image import names, probe
from launchers.image.catalogue import RULES
from launchers.image.host_settings import HostSettings
from launchers.image.own_requirements import names_package
from launchers.image.probe_container import NoAnswerError, answer_of
from launchers.image.recipes import (
    HOROVOD,
    HOST_FOLDER,
    OWN_REQUIREMENTS,
    RECIPES,
    recipe_digest,
    recipe_files,
)
from launchers.image.steps import BuildStream

if TYPE_CHECKING:
    import docker

CPU_BASE = "debian:bookworm-slim"
# (final image, build stage). The CPU pins are those of TensorFlow 2.18, whose CUDA wheels are
# 12.5; NVIDIA's images on Ubuntu 24.04, which has a Python that the pins allow, begin with 12.6.
GPU_BASES = ("nvidia/cuda:12.6.3-base-ubuntu24.04", "nvidia/cuda:12.6.3-devel-ubuntu24.04")
# The machines with GPUs of both clouds.
ARCHITECTURE = "amd64"
VERSIONS_SECONDS = 120.0


@dataclass(frozen=True)
class BuildRequest:
    """What to build.

    Attributes:
        base: What the final image and the build stage begin with; None for ours.
        tag: The image's name; None for ours.
        recipe: A name of :data:`~launchers.image.recipes.RECIPES`.
        requirements: The content of the user's own file, or nothing; not with Horovod.
    """

    gpu: bool = False
    base: str | None = None
    tag: str | None = None
    recipe: str = HOROVOD
    requirements: bytes = b""

    @property
    def bases(self) -> tuple[str, str]:
        """The image that the final one begins with, and that of the build stage."""
        if self.base:
            return self.base, self.base
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
        cached: Whether every layer was there already.
    """

    tag: str
    id: str
    size: int
    architecture: str
    versions: Mapping[str, str]
    seconds: float
    cached: bool


def build(
    client: docker.DockerClient,
    request: BuildRequest,
    host: HostSettings,
    progress: Progress,
    folder: Path | None = None,
) -> BuiltImage:
    """Build the image; blocks for minutes, or for seconds where the engine has all layers.

    A second call is safe. An interrupted one leaves the layers that were done.

    Args:
        folder: The recipe; the one that the installation carries where None.

    Raises:
        LaunchError: The base cannot be had, the disk is too full, or a step failed.
    """
    import docker.errors

    folder = folder or images_folder()
    files = files_of(folder, request)
    started = time.monotonic()
    _need_room(client, request)
    for base in dict.fromkeys(request.bases):
        _need_base(client, base, request, progress)
    stream = BuildStream(files["Dockerfile"].decode(), progress)
    try:
        stream.follow(
            client.api.build(
                fileobj=context(files, host),
                custom_context=True,
                tag=request.name,
                buildargs=_arguments(request, host),
                labels={names.RECIPE_LABEL: recipe_digest(folder, request.recipe)},
                network_mode=host.network,
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
    seconds = time.monotonic() - started
    built = client.images.get(stream.image or request.name)
    progress.step("Look what is in it")
    return BuiltImage(
        tag=request.name,
        id=str(built.id),
        size=int(built.attrs["Size"]),
        architecture=str(built.attrs["Architecture"]),
        versions=_versions(client, str(built.id)),
        seconds=seconds,
        cached=stream.cached,
    )


def context(files: Mapping[str, bytes], host: HostSettings) -> io.BytesIO:
    """The build context as a tar: the recipe's files, with the host's settings in ``host/``.

    Times and owners are fixed, so that the engine's cache sees the same bytes every time.
    """
    merged = dict(files)
    merged[f"{HOST_FOLDER}/pip.conf"] = host.pip_conf.encode()
    merged[f"{HOST_FOLDER}/ca.pem"] = host.ca_bundle
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name in sorted(merged):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(merged[name]), 0o644
            archive.addfile(entry, io.BytesIO(merged[name]))
    stream.seek(0)
    return stream


def _versions(client: docker.DockerClient, identifier: str) -> dict[str, str]:
    try:
        return answer_of(client, identifier, probe.source("versions"), VERSIONS_SECONDS)
    except NoAnswerError as error:
        raise LaunchError(
            RULES["image-python"].at("image build", str(error), "a Python in the built image"),
            EXIT_JOB_DID_NOT_SUCCEED,
        ) from None


def files_of(folder: Path, request: BuildRequest) -> dict[str, bytes]:
    """The recipe's files with the user's own requirements; pins that those replace are left out."""
    files = recipe_files(folder, request.recipe)
    if request.requirements:
        files[OWN_REQUIREMENTS] = request.requirements
        if names_package(request.requirements, request.recipe):
            files["pins/framework.txt"] = b""
    return files


def _arguments(request: BuildRequest, host: HostSettings) -> dict[str, str]:
    final, compiling = request.bases
    given = {"BASE": final, "GPU": str(int(request.gpu)), **host.proxies}
    if request.recipe == HOROVOD:
        return {"BUILD_BASE": compiling, **given}
    extra = RECIPES[request.recipe].gpu_extra if request.gpu else ""
    return {"FRAMEWORK": request.recipe, "EXTRA": extra, **given}


def _need_base(
    client: docker.DockerClient, base: str, request: BuildRequest, progress: Progress
) -> None:
    """Have ``base`` on this machine, from its registry where it is not there yet."""
    import docker.errors

    try:
        client.images.get(base)
        return
    except docker.errors.ImageNotFound:
        progress.step(f"Pull {base}")
    except docker.errors.DockerException as error:
        raise _no_base(base, request, str(error)) from None
    try:
        from docker.utils import parse_repository_tag

        repository, tag = parse_repository_tag(base)
        for event in client.api.pull(repository, tag=tag or "latest", stream=True, decode=True):
            if "error" in event:
                raise _no_base(base, request, str(event["error"]))
            progress.note(_pull_note(event))
    except (docker.errors.DockerException, OSError) as error:
        raise _no_base(base, request, getattr(error, "explanation", None) or str(error)) from None


def _pull_note(event: Mapping[str, Any]) -> str:
    return " ".join(str(event.get(key, "")) for key in ("id", "status", "progress")).strip()


def _no_base(base: str, request: BuildRequest, reason: str) -> LaunchError:
    ways = "--base IMAGE names one that is on this machine"
    if base == CPU_BASE:
        ways = f"`make base-image` in a clone makes it without a registry; or {ways}"
    where = "--base" if request.base else "base image"
    return LaunchError(
        RULES["image-base-missing"].at(
            where, f"{base} is not on this machine and cannot be pulled: {reason[:200]}", fix=ways
        )
    )


def _need_room(client: docker.DockerClient, request: BuildRequest) -> None:
    """Refuse a first build on a disk that it would fill."""
    import docker.errors

    if request.base and request.recipe != HOROVOD:  # it may hold all of it
        return
    try:
        client.images.get(request.name)
        return
    except docker.errors.DockerException:
        root = Path(client.info().get("DockerRootDir", ""))
    # An engine elsewhere (DOCKER_HOST, a virtual machine) has its folder on another machine.
    if not client.api.base_url.startswith("http+docker://") or not root.is_dir():
        return
    free, wanted = shutil.disk_usage(root).free, RECIPES[request.recipe].room[request.gpu]
    if free < wanted:
        raise LaunchError(
            RULES["image-disk"].at(
                str(root), f"{size_text(free)} free", f"{size_text(wanted)} for a build"
            )
        )
