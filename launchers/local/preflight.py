"""What would stop a job on this machine, asked before any rank starts."""

from __future__ import annotations

import socket

from launchers.core.model.jobs import JobDefinition
from launchers.core.model.problems import Problem
from launchers.core.paths import is_elsewhere
from launchers.core.strategies import said_by
from launchers.core.system import require_linux
from launchers.local.catalogue import RULES
from launchers.machine.supervised.preflight import folder_problems


def preflight(definition: JobDefinition) -> list[Problem]:
    """Folders that can be written, room on the disk, a host name, a free port."""
    require_linux("running ranks")
    document = definition.document
    checkpoints = document["environment"]["LAUNCH_CHECKPOINT_DIR"]
    own = [] if is_elsewhere(checkpoints) else [checkpoints]
    problems = folder_problems([document["folder"], *own])
    if document["world_size"] > 1 and not said_by(document["environment"]):
        problems += host_name_problems()
    return problems + _port_problems(document["port"])


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
