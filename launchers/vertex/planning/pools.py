"""The worker pools of a CustomJob: which replicas it has, and on which machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from launchers.vertex.options import VertexJob
from launchers.vertex.planning.flags import boot_disk
from launchers.vertex.planning.machine_choice import MachineChoice
from launchers.vertex.tables import machines

_RESERVATION_KEY = "compute.googleapis.com/reservation-name"


def worker_pools(
    job: VertexJob, machine: MachineChoice, container: Mapping[str, Any]
) -> Sequence[Mapping[str, Any]]:
    """The chief alone in the first pool, the other hosts in the second, reduction servers in the
    third; a pool in between that has none is an empty object.

    Args:
        container: That of each rank's replica.
    """
    servers = job.options.reduction_servers
    disk = boot_disk(job.options.boot_disk)[0]
    gpus = {"acceleratorType": machine.accelerator, "acceleratorCount": machine.gpus}
    hardware = {
        "machineType": machine.name,
        **(gpus if machine.accelerator else {}),
        "reservationAffinity": _affinity(job.options.reservation),
    }
    pools = [_pool(hardware, 1, disk, container)]
    if job.instances > 1:
        pools.append(_pool(hardware, job.instances - 1, disk, container))
    elif servers:
        pools.append({})
    if servers:
        name, image = machines.reduction_server()
        hardware = {"machineType": job.options.reduction_server_machine or name}
        spec = {"imageUri": image, "env": container["env"]}
        # --boot-disk is the ranks': their data lies on it, and a server has none.
        pools.append(_pool(hardware, servers, None, spec))
    return pools


def _pool(
    hardware: Mapping[str, Any],
    replicas: int,
    disk: Mapping[str, Any] | None,
    container: Mapping[str, Any],
) -> Mapping[str, Any]:
    return {
        "machineSpec": hardware,
        # The JSON form of a 64 bit number is a text.
        "replicaCount": str(replicas),
        "diskSpec": disk,
        "containerSpec": container,
    }


def _affinity(reservation: str | None) -> Mapping[str, Any] | None:
    """ReservationAffinity."""
    if reservation is None:
        return None
    if reservation == "any":
        return {"reservationAffinityType": "ANY_RESERVATION"}
    return {
        "reservationAffinityType": "SPECIFIC_RESERVATION",
        "key": _RESERVATION_KEY,
        "values": [reservation],
    }
