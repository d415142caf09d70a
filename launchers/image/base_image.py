"""What a build begins with: the base image on this machine, and room on its disk."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from launchers.core.model.problems import LaunchError
from launchers.docker.progress import Progress, size_text
from launchers.image.catalogue import RULES

if TYPE_CHECKING:
    import docker

CPU_BASE = "debian:bookworm-slim"


def have_base(
    client: docker.DockerClient,
    base: str,
    is_asked_for: bool,
    progress: Progress,
    built_by: str = "",
) -> Any:
    """``base`` as the engine has it, from its registry where it is not there yet.

    Args:
        is_asked_for: It was named by ``--base``.
        built_by: The command that makes it, where no registry has it.

    Raises:
        LaunchError: It cannot be had.
    """
    import docker.errors

    try:
        return client.images.get(base)
    except docker.errors.ImageNotFound:
        if built_by:
            raise _not_built(base, built_by) from None
        progress.step(f"Pull {base}")
    except docker.errors.APIError as error:
        raise _no_base(base, is_asked_for, str(error.explanation or error)) from None
    try:
        from docker.utils import parse_repository_tag

        repository, tag = parse_repository_tag(base)
        for event in client.api.pull(repository, tag=tag or "latest", stream=True, decode=True):
            if "error" in event:
                raise _no_base(base, is_asked_for, str(event["error"]))
            progress.note(_pull_note(event))
        return client.images.get(base)
    except (docker.errors.DockerException, OSError) as error:
        reason = getattr(error, "explanation", None) or str(error)
        raise _no_base(base, is_asked_for, reason) from None


def _pull_note(event: Mapping[str, Any]) -> str:
    return " ".join(str(event.get(key, "")) for key in ("id", "status", "progress")).strip()


def _not_built(base: str, built_by: str) -> LaunchError:
    ways = f"build it first: `{built_by}`; or --base IMAGE names one that is on this machine"
    found = f"{base} is not on this machine"
    return LaunchError(RULES["image-base-missing"].at("base image", found, fix=ways))


def _no_base(base: str, is_asked_for: bool, reason: str) -> LaunchError:
    ways = "--base IMAGE names one that is on this machine"
    if base == CPU_BASE:
        ways = f"`make base-image` in a clone makes it without a registry; or {ways}"
    where = "--base" if is_asked_for else "base image"
    return LaunchError(
        RULES["image-base-missing"].at(
            where, f"{base} is not on this machine and cannot be pulled: {reason[:200]}", fix=ways
        )
    )


def need_room(client: docker.DockerClient, wanted: int) -> None:
    """Refuse a first build on a disk that it would fill.

    Args:
        wanted: Bytes.

    Raises:
        LaunchError: There is less.
    """
    root = Path(client.info().get("DockerRootDir", ""))
    # An engine elsewhere (DOCKER_HOST, a virtual machine) has its folder on another machine.
    if not client.api.base_url.startswith("http+docker://") or not root.is_dir():
        return
    free = shutil.disk_usage(root).free
    if free < wanted:
        raise LaunchError(
            RULES["image-disk"].at(
                str(root), f"{size_text(free)} free", f"{size_text(wanted)} for a build"
            )
        )
