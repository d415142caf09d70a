"""What rehearsals and image builds need of the Docker engine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from launchers.core.doctor.checks import findings_of
from launchers.core.model.findings import Finding, finding, skipped, well
from launchers.core.model.problems import EXIT_PREFLIGHT, LaunchError
from launchers.core.paths import at_home
from launchers.core.prerequisites import CHECK_SECONDS, Check, Doctor
from launchers.core.spec.job import JobSpec
from launchers.docker.engine import engine
from launchers.image.names import GPU_LABEL, RECIPE_LABEL, default_image
from launchers.image.recipes import HOROVOD, RECIPES, recipe_digest
from launchers.machine.devices import visible_gpus
from launchers.rehearsal.catalogue import RULES
from launchers.rehearsal.engine.leftovers import rehearsals
from launchers.rehearsal.staging.resources import passes_gpus

# The oldest engine that this is tested with: 20.10, of Debian 12.
_LEAST_API = (1, 41)
_LEAST_NAME = "20.10 or newer (API 1.41)"
_LEAST_MEMORY = 4 * 10**9
_SOCKETS = ("/var/run/docker.sock", "~/.docker/run/docker.sock")


class DockerDoctor(Doctor):
    """The engine, as `--dry-run=docker`, `launch rehearse` and `launch image` use it."""

    title = "Docker (rehearsals, launch image)"
    exit_code = EXIT_PREFLIGHT

    def checks(self, job: JobSpec, offline: bool) -> list[Check]:
        """One: what follows needs an engine that answers."""
        return [Check("engine", _engine_findings)]

    def unused(self, job: JobSpec) -> str:
        """See :class:`Doctor`."""
        there = shutil.which("docker") or os.environ.get("DOCKER_HOST")
        if there or any(at_home(one).exists() for one in _SOCKETS):
            return ""
        return "no docker command, no socket and no DOCKER_HOST"


def _engine_findings() -> list[Finding]:
    try:
        client = engine(timeout=CHECK_SECONDS)
    except LaunchError as error:
        return [
            *(finding(one, "engine", run=_first_command(one.fix)) for one in error.problems),
            skipped("image", "no engine answers"),
        ]
    try:
        info, version = client.info(), client.version()
        return findings_of(
            [
                Check("engine", lambda: [_version(version)]),
                Check("containers", lambda: [_system(info)]),
                Check("processor", lambda: [_architecture(info)]),
                Check("disk", lambda: [_disk(info, client.api.base_url)]),
                Check("memory", lambda: [_memory(info)]),
                Check("GPUs", lambda: _gpus(info)),
                Check("image", lambda: [_image(client)]),
                Check("rehearsals", lambda: [_leftovers(client)]),
            ]
        )
    finally:
        client.close()


def _first_command(fix: str) -> str:
    """The first command in backquotes."""
    parts = fix.split("`")
    return parts[1] if len(parts) > 2 and parts[1].startswith("sudo ") else ""


def _version(version: dict[str, Any]) -> Finding:
    api = str(version.get("ApiVersion", "0"))
    found = f"Docker {version.get('Version', 'of no version')}, API {api}"
    if tuple(int(part) for part in api.split(".") if part.isdecimal()) < _LEAST_API:
        return finding(RULES["engine-version"].at("engine", found, _LEAST_NAME))
    return well("engine", found, _LEAST_NAME)


def _system(info: dict[str, Any]) -> Finding:
    system = str(info.get("OSType", "linux"))
    if system != "linux":
        return finding(RULES["engine-system"].at("containers", f"{system} containers"))
    rootless = any("rootless" in str(one) for one in info.get("SecurityOptions") or ())
    return well("containers", f"Linux, {info.get('Driver', '')}{', rootless' if rootless else ''}")


def _architecture(info: dict[str, Any]) -> Finding:
    name = str(info.get("Architecture", ""))
    if name not in ("x86_64", "amd64"):
        return finding(RULES["engine-architecture"].at("processor", name or "not told"))
    return well("processor", f"{name}, {info.get('NCPU')} CPUs")


def _disk(info: dict[str, Any], address: str) -> Finding:
    root = Path(info.get("DockerRootDir") or "/nowhere")
    wanted = RECIPES[HOROVOD].room[0]
    needed = f"{wanted / 1e9:.0f} GB to build our image"
    # Docker Desktop's machine and an engine elsewhere have their folder there.
    if not address.startswith("http+docker://") or not root.is_dir():
        return skipped("disk", f"the engine's folder {root} is not on this machine")
    free = shutil.disk_usage(root).free
    text = f"{free / 1e9:.1f} GB free in {root}"
    if free < wanted:
        return finding(RULES["engine-disk"].at("disk", text, needed))
    return well("disk", text, needed)


def _memory(info: dict[str, Any]) -> Finding:
    total = int(info.get("MemTotal") or 0)
    text = f"{total / 1e9:.1f} GB"
    if total < _LEAST_MEMORY:
        return finding(RULES["engine-memory"].at("memory", text))
    return well("memory", text)


def _gpus(info: dict[str, Any]) -> list[Finding]:
    devices = visible_gpus()
    if not devices:
        return []
    found = f"{len(devices)} of this machine"
    if passes_gpus(info):
        return [well("GPUs", f"{found}, passed to containers")]
    return [finding(RULES["engine-gpus"].at("GPUs", f"{found}, not passed to containers"))]


def _image(client: Any) -> Finding:
    found = default_image(client)
    if found is None:
        where = "none: documents whose image can be pulled need none"
        problem = RULES["own-image"].at("image", where)
        return finding(problem, run="launch image build")
    image = client.images.get(found)
    if image.labels.get(RECIPE_LABEL) != recipe_digest():
        text = f"{found}, of another version's recipe"
        return finding(RULES["own-image"].at("image", text), run="launch image build")
    gpu = ", for GPUs" if image.labels.get(GPU_LABEL) == "1" else ""
    size = int(image.attrs.get("Size") or 0) / 1e9
    return well("image", f"{found}, {size:.1f} GB{gpu}")


def _leftovers(client: Any) -> Finding:
    items = rehearsals(client)
    left = sum(item.state == "left over" for item in items)
    running = sum(item.state == "running" for item in items)
    if left:
        problem = RULES["own-leftovers"].at("rehearsals", f"{left} left over")
        return finding(problem, run="launch rehearsals --clean")
    return well("rehearsals", f"{running} running, nothing left over")
