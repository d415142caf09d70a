"""What this machine gives to a rehearsal: the image, memory, GPUs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import Any

from launchers.core.model.containers import Container
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.strategies.strategy import Strategy
from launchers.image.check import missing_packages, needs_for
from launchers.image.names import default_image
from launchers.machine.devices import visible_gpus
from launchers.rehearsal.catalogue import RULES
from launchers.rehearsal.engine.cluster import Limits, explanation

# Left to the engine, to this launcher and to whoever works on the machine.
_OTHERS_SHARE = 0.1
_LEAST_MEMORY = 512 * 1024**2
# The programs of NVIDIA's container toolkit, one of which an engine needs to pass GPUs through.
_GPU_RUNTIMES = ("nvidia-container-runtime", "nvidia-container-runtime-hook", "nvidia-ctk")


def have_image(client: Any, image: str, tell: Callable[[str], None]) -> None:
    """Make sure that ``image`` is on this machine: as it is there, else pulled. May block long.

    Raises:
        LaunchError: It is not there and cannot be pulled; exit code 2, with the ways on.
    """
    from docker.errors import APIError, DockerException, ImageNotFound

    try:
        client.api.inspect_image(image)
        return
    except ImageNotFound:
        tell(f"image {image} is not on this machine: pulling it")
    except APIError as error:
        raise LaunchError(_no_image(client, image, explanation(error))) from None
    try:
        for step in client.api.pull(image, stream=True, decode=True):
            if "error" in step:
                raise LaunchError(_no_image(client, image, str(step["error"])))
        client.api.inspect_image(image)
    except (DockerException, OSError) as error:
        raise LaunchError(_no_image(client, image, explanation(error))) from None


def fits_strategy(client: Any, image: str, strategy: Strategy) -> None:
    """A quick look whether the image has the packages of the strategy's ranks; blocks for a second.

    What more they need, `launch image check` looks for.

    Raises:
        LaunchError: It lacks one, or has no Python; exit code 2, before any rank.
    """
    needs = needs_for(strategy)
    if needs is None:
        return
    name = strategy.name
    ours = f"--rehearsal-image IMAGE (`launch image build --with {name}` makes one)"
    problems = [
        RULES["rehearsal-packages"].at(
            "image", f"{image} has no {part.title}", f"what {name} needs", f"{part.fix}; or {ours}"
        )
        for part in missing_packages(client, image, needs)
    ]
    if problems:
        raise LaunchError(problems)


def shares(client: Any, containers: Sequence[Container], memory: int | None) -> tuple[Limits, str]:
    """Memory and GPUs of each container; a note where ranks get fewer GPUs than in the cloud.

    Args:
        memory: Bytes for each container, or None for an equal part of the machine's.
    """
    total = int(client.info().get("MemTotal", 0))
    each = memory or max(_LEAST_MEMORY, int(total * (1 - _OTHERS_SHARE) / len(containers)))
    wanted = max(container.gpus for container in containers)
    if not wanted:
        return Limits(each), ""
    found = visible_gpus()
    if not found:
        return Limits(each), "no GPU on this machine: the ranks run on the CPU"
    if not _passes_gpus(client):
        note = (
            f"{len(found)} GPUs here, but the engine has no NVIDIA runtime: the ranks run on the "
            "CPU (install nvidia-container-toolkit)"
        )
        return Limits(each), note
    count = min(wanted, len(found) // len(containers))
    if not count:
        note = f"{len(found)} GPUs for {len(containers)} hosts: the ranks run on the CPU"
        return Limits(each), note
    devices = tuple(
        tuple(found[index * count : (index + 1) * count]) for index in range(len(containers))
    )
    note = f"{count} GPUs a host instead of {wanted}" if count < wanted else ""
    return Limits(each, devices), note


def _passes_gpus(client: Any) -> bool:
    runtimes = client.info().get("Runtimes") or {}
    return "nvidia" in runtimes or any(shutil.which(name) for name in _GPU_RUNTIMES)


def _no_image(client: Any, image: str, reason: str) -> Problem:
    ours = default_image(client)
    stand_in = (
        f"--rehearsal-image {ours}"
        if ours
        else ("--rehearsal-image IMAGE (`launch image build` makes one)")
    )
    return RULES["rehearsal-image"].at(
        "image",
        f"{image} is not on this machine and cannot be pulled: {reason[:200]}",
        fix=f"rehearse in another: {stand_in}; or submit with another: --image IMAGE",
    )
