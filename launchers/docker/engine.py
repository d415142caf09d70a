"""The one place that connects to the Docker engine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from launchers.core.catalogue import RULES
from launchers.core.model.problems import EXIT_PREFLIGHT, LaunchError, Problem

if TYPE_CHECKING:
    import docker

_CONNECT_SECONDS = 10
_SOCKET = "unix:///var/run/docker.sock"
_START = (
    "start it: `sudo systemctl start docker`, or `sudo dockerd &` (Debian: apt-get install "
    "docker.io); without Docker, `launch local` runs the ranks as processes here"
)
_RIGHTS = (
    "join its group (`sudo usermod -aG docker $USER`, then log in again) or run as root; without "
    "Docker, `launch local` runs the ranks as processes here"
)
# What the SDK's message holds -> (what a person is told, the way on)
_CAUSES = {
    "PermissionError": ("this user may not open it", _RIGHTS),
    "FileNotFoundError": ("no such socket", _START),
    "Connection refused": ("nothing listens there", _START),
    "ConnectionRefused": ("nothing listens there", _START),
    "ContextNotFound": ("Docker's current context is not there", "`docker context ls` lists them"),
    "timed out": (f"no answer in {_CONNECT_SECONDS} s", _START),
    "resolve": ("its name cannot be resolved", "set DOCKER_HOST to the engine's address"),
}


def engine(timeout: float = 60.0) -> docker.DockerClient:
    """A client of the Docker engine that DOCKER_HOST or Docker's current context names.

    Blocks for up to 10 s while it connects. The caller closes it.

    Args:
        timeout: Seconds that the engine may be silent within one answer.

    Raises:
        LaunchError: No engine answers; one line, exit code 4.
    """
    import docker
    from docker.errors import DockerException

    try:
        client = docker.from_env(timeout=_CONNECT_SECONDS, use_ssh_client=True)
    # requests' errors are OSErrors; a broken DOCKER_HOST is a ValueError.
    except (DockerException, OSError, ValueError) as error:
        raise LaunchError(_no_engine(error), EXIT_PREFLIGHT) from None
    client.api.timeout = timeout
    return client


def _no_engine(error: Exception) -> Problem:
    where = os.environ.get("DOCKER_HOST") or _SOCKET
    text = f"{type(error).__name__}: {error}"
    reason, fix = next(
        (told for sign, told in _CAUSES.items() if sign in text), (str(error)[:200], _START)
    )
    return RULES["docker-engine"].at(
        "Docker engine", f"{where}: {reason}", "an engine that answers", fix
    )
