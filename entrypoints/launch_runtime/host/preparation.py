"""What can be known before any host is asked: the script, where logs go, what to install."""

from __future__ import annotations

import os
from typing import Sequence

from launch_runtime import environment as env
from launch_runtime import program
from launch_runtime.host import requirements
from launch_runtime.host.cluster import Cluster
from launch_runtime.host.local_ranks import log_path, numbers
from launch_runtime.host.settings import Settings


def prepare(
    arguments: Sequence[str], entrypoints: str, cluster: Cluster, settings: Settings
) -> tuple[str, list[str]]:
    """The ranks' working folder, and their command after the interpreter, checked.

    Raises:
        environment.SettingError: No such script, or logs cannot be written.
    """
    if not arguments:
        raise env.SettingError("no script given; usage: agent.py SCRIPT|-m MODULE [ARGUMENTS...]")
    source = env.source_folder(os.environ, entrypoints)
    program.find(source, arguments)
    for number in numbers(cluster, settings):
        path = log_path(settings, number)
        if path:
            _try_log(path)
    return source, [os.path.join(entrypoints, "guard.py"), *arguments]


def requirements_file(entrypoints: str, cluster: Cluster) -> str:
    """The bundle's requirements.txt where this agent installs it, else "".

    On this machine `launch local` does that itself, once for all hosts.
    """
    path = os.path.join(entrypoints, requirements.FILE)
    return path if cluster.managed and os.path.isfile(path) else ""


def _try_log(path: str) -> None:
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    except OSError as error:
        raise env.SettingError(f"LAUNCH_LOG_DIR: cannot write {path}: {error.strerror}") from None
