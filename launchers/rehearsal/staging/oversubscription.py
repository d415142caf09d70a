"""More ranks than CPU cores: a rank that waits must give way, or the others barely move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from launchers.core.model.containers import Container
from launchers.core.planning.plan import counted


def room(
    client: Any, containers: Sequence[Container], gives_way: Mapping[str, str]
) -> tuple[Mapping[str, str], str]:
    """Variables by which ranks give way where they are more than the cores, and a deviation: each
    container believes that all cores are its own.

    Args:
        gives_way: Those of the job's strategy.
    """
    cores = int(client.info().get("NCPU", 0))
    ranks = sum(len(container.ranks) for container in containers)
    if not cores or ranks <= cores:
        return {}, ""
    note = f"{ranks} ranks on {counted(cores, 'CPU core')}"
    words = ", ".join(f"{name}={value}" for name, value in gives_way.items())
    return gives_way, f"{note}: idle ranks give way ({words})" if words else note
