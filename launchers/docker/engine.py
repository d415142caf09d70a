"""The one place that connects to the Docker engine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from launchers.core.catalogue import RULES
from launchers.core.model.problems import EXIT_PREFLIGHT, LaunchError, Problem

if TYPE_CHECKING:
    import docker
    from docker.errors import APIError

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
_NO_ADDRESS = (
    "not a valid engine address",
    f"set DOCKER_HOST to one, such as {_SOCKET}, or unset it",
)
_NO_SSH = (
    "Docker's SDK connects by ssh with the package paramiko, which is not installed",
    (
        "install it beside launch (`pipx inject launch-training paramiko`, or pip), or forward the "
        "engine's socket: `ssh -nNT -L /tmp/docker.sock:/var/run/docker.sock HOST`, and "
        "DOCKER_HOST=unix:///tmp/docker.sock"
    ),
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
    "Invalid bind address": _NO_ADDRESS,
    "ValueError: Port ": _NO_ADDRESS,
    "Install paramiko": _NO_SSH,
}
# What an engine's refusal holds -> the way on
_ROOM = {
    "no space left on device": "free some space: `docker system df` shows what Docker uses",
    "address pool": "`docker network prune` removes networks that no container uses",
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

    if not os.environ.get("DOCKER_HOST"):
        _check_context()
    try:
        client = docker.from_env(timeout=_CONNECT_SECONDS, use_ssh_client=True)
    # requests' errors are OSErrors; a broken DOCKER_HOST is a ValueError.
    except (DockerException, OSError, ValueError) as error:
        raise LaunchError(_no_engine(error), EXIT_PREFLIGHT) from None
    client.api.timeout = timeout
    return client


def _check_context() -> None:
    """Refuses a context that is not there: the SDK would take another engine instead."""
    from docker.context import ContextAPI
    from docker.errors import ContextNotFound

    name = os.environ.get("DOCKER_CONTEXT")  # else that of Docker's configuration
    try:
        if not ContextAPI.get_context(name):
            raise ContextNotFound(name)
    except Exception as error:  # a plain one of a file that is cut
        raise LaunchError(_no_engine(error), EXIT_PREFLIGHT) from None


@contextmanager
def connected(timeout: float = 60.0) -> Iterator[docker.DockerClient]:
    """:func:`engine` for the time of a block, closed at its end.

    Raises:
        LaunchError: No engine answers, it went away in the block, or it refused what the block did
            not expect it to; one line, exit code 4.
    """
    from docker.errors import APIError
    from requests.exceptions import RequestException
    from urllib3.exceptions import HTTPError

    client = engine(timeout)
    try:
        yield client
    except APIError as error:
        raise LaunchError(_refused(error), EXIT_PREFLIGHT) from None
    except (RequestException, HTTPError) as error:
        raise LaunchError(_gone(error, client.api.timeout), EXIT_PREFLIGHT) from None
    finally:
        client.close()


def _refused(error: APIError) -> Problem:
    said = " ".join(str(error.explanation or error).split())
    fix = next((way for sign, way in _ROOM.items() if sign in said), "its log may say more")
    return RULES["docker-engine"].at("Docker engine", said[:300], "an engine that does it", fix)


def _gone(error: Exception, timeout: float) -> Problem:
    from requests.exceptions import Timeout
    from urllib3.exceptions import TimeoutError as StreamTimeout

    # Of a stream it is urllib3's own, or in a ConnectionError.
    cause = next(iter(error.args), None)
    if any(isinstance(one, (Timeout, StreamTimeout)) for one in (error, cause)):
        found, fix = f"no answer in {timeout:.0f} s", "it may be busy: try again, or see its log"
        return RULES["docker-engine"].at("Docker engine", found, "an engine that answers", fix)
    return RULES["docker-engine"].at(
        "Docker engine",
        f"it went away before this was done ({type(error).__name__})",
        "an engine that stays",
        "look into its log, and start again",
    )


def _no_engine(error: Exception) -> Problem:
    context = os.environ.get("DOCKER_CONTEXT")
    where = os.environ.get("DOCKER_HOST") or (f"DOCKER_CONTEXT {context}" if context else _SOCKET)
    text = f"{type(error).__name__}: {error}"
    reason, fix = next(
        (told for sign, told in _CAUSES.items() if sign in text), (str(error)[:200], _START)
    )
    return RULES["docker-engine"].at(
        "Docker engine", f"{where}: {reason}", "an engine that answers", fix
    )
