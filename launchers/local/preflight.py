"""What would stop a job on this machine, asked before any rank starts."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
from pathlib import Path

from launchers.core.model.jobs import JobDefinition
from launchers.core.model.problems import Problem
from launchers.core.paths import unwritable
from launchers.core.strategies import said_by
from launchers.core.system import require_linux
from launchers.local.catalogue import RULES

# Room that a job's logs, model and checkpoints need at the very least.
LEAST_FREE_BYTES = 32 * 1024**2
ELSEWHERE = "name another with --output-path (or LAUNCH_HOME for all jobs)"


def preflight(definition: JobDefinition) -> list[Problem]:
    """Folders that can be written, room on the disk, a host name, a free port."""
    require_linux("running ranks")
    document = definition.document
    folders = [document["folder"], document["environment"]["LAUNCH_CHECKPOINT_DIR"]]
    problems = [problem for folder in folders for problem in _folder_problems(Path(folder))]
    if document["world_size"] > 1 and not said_by(document["environment"]):
        problems += host_name_problems()
    return problems + _port_problems(document["port"])


def _folder_problems(folder: Path) -> list[Problem]:
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    probe = existing / f".launch-probe-{os.getpid()}"
    try:
        if not existing.is_dir():
            raise NotADirectoryError(20, "not a folder")
        probe.write_bytes(b"\0" * 4096)
    except OSError as error:
        return [unwritable(folder, error, ELSEWHERE)]
    finally:
        with contextlib.suppress(OSError):
            probe.unlink()
    free = shutil.disk_usage(existing).free
    if free < LEAST_FREE_BYTES:
        return [
            RULES["disk-full"].at(
                str(folder),
                f"{free // 1024**2} MB free on its disk",
                f"at least {LEAST_FREE_BYTES // 1024**2} MB",
            )
        ]
    return []


def host_name_problems() -> list[Problem]:
    """Horovod 0.28.1 looks this machine's own name up for the context of its process sets
    (gloo_context.cc), whatever HOROVOD_GLOO_IFACE says, and aborts where it has no address."""
    name = socket.gethostname()
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        return [
            RULES["host-name"].at(
                "this machine's host name",
                f"{name} has no address",
                fix=f"add a line to /etc/hosts: 127.0.1.1 {name}",
            )
        ]
    return []


def _port_problems(port: int) -> list[Problem]:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            return [RULES["port-taken"].at("--port", f"{port} ({error.strerror})")]
    return []
