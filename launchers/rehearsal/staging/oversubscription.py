"""More ranks than CPU cores: a rank that waits must give way, or the others barely move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from launchers.core.model.containers import Container
from launchers.core.planning.plan import counted

# Open MPI spins while it waits, and each container believes that all cores are its own; Horovod
# talks to the other ranks every millisecond. Measured on 2 cores with 2 x 2 ranks of the shared
# script: 119 s with the first setting alone, 57 s with both (Open MPI 4.1.4, Horovod 0.28.1).
SETTINGS = {"OMPI_MCA_mpi_yield_when_idle": "1", "HOROVOD_CYCLE_TIME": "5"}


def room(client: Any, containers: Sequence[Container]) -> tuple[dict[str, str], str]:
    """Variables by which ranks give way where they are more than the cores, and a deviation."""
    cores = int(client.info().get("NCPU", 0))
    ranks = sum(len(container.ranks) for container in containers)
    if not cores or ranks <= cores:
        return {}, ""
    words = ", ".join(f"{name}={value}" for name, value in SETTINGS.items())
    return SETTINGS, f"{ranks} ranks on {counted(cores, 'CPU core')}: idle ranks give way ({words})"
