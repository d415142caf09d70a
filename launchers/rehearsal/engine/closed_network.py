"""A host's network in which some addresses are closed from the first moment on.

A container gets its network when it starts, too late to close anything before its program runs. So
a small container of the same image starts first, closes the addresses, and holds the network; the
host's own container joins it, with the same name, hosts file and address, and no privilege. That
needs no right on this machine but the engine's, and works with an engine without root.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from importlib import resources
from typing import Any

from launchers.core.model.containers import Container
from launchers.image.probe_container import FIND_PYTHON
from launchers.rehearsal.engine import hold_network

_MEMORY = 64 * 1024**2
_PROCESSES = 16
_SECONDS = 60.0  # for two lines of Python
_SHOWN = 200  # letters of a reason


class NotClosedError(Exception):
    """It could not be closed; the text says why. Nothing of it is left."""


def hold_closed(api: Any, item: Container, closed: Sequence[str], network: str, **made: Any) -> str:
    """Start the container that holds ``item``'s network; gives its id. Blocks for about a second.

    Args:
        closed: The addresses.
        network: The one that it joins.
        made: What it is created with besides: name, labels, networking_config.

    Raises:
        NotClosedError: The image has no Python, or the engine gives no right over the network.
    """
    from docker.errors import APIError
    from requests.exceptions import RequestException

    program = resources.files(__package__) / "hold_network.py"
    holder = ""

    def remove() -> None:
        with contextlib.suppress(APIError, RequestException):
            api.remove_container(holder, v=True, force=True)

    watch = threading.Timer(_SECONDS, remove)
    watch.daemon = True
    try:
        created = api.create_container(
            item.image,
            entrypoint=["/bin/sh", "-c", FIND_PYTHON, "sh"],
            command=["-c", program.read_text(encoding="utf-8"), *closed],
            hostname=item.hostname,
            user="0",
            host_config=api.create_host_config(
                network_mode=network,
                extra_hosts=dict(item.names) or None,
                mem_limit=_MEMORY,
                memswap_limit=_MEMORY,
                pids_limit=_PROCESSES,
                cap_drop=["ALL"],
                cap_add=["NET_ADMIN"],
                security_opt=["no-new-privileges"],
            ),
            **made,
        )
        holder = str(created["Id"])
        api.start(holder)
        said = b""
        watch.start()
        for piece in api.logs(holder, stream=True, follow=True):
            said += piece
            if hold_network.CLOSED.encode() in said.split():
                return holder
        reason = said.decode("utf-8", "replace").strip().rpartition("\n")[2] or "it said nothing"
    except (APIError, RequestException) as error:
        reason = str(getattr(error, "explanation", "") or error)
    finally:
        watch.cancel()
    if holder:
        remove()
    raise NotClosedError(reason[:_SHOWN])
