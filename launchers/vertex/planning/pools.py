"""The worker pools of a CustomJob: which replicas it has, and on which machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from launchers.vertex.document import ANY_RESERVATION
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
        "reservationAffinity": _affinity(job.options.reservations),
    }
    mounts = _nfs_mounts(job.options.nfs_mounts)
    pools = [_pool(hardware, 1, disk, container, mounts)]
    if job.instances > 1:
        pools.append(_pool(hardware, job.instances - 1, disk, container, mounts))
    elif servers:
        pools.append({})
    if servers:
        name, image = machines.reduction_server()
        hardware = {"machineType": job.options.reduction_server_machine or name}
        spec = {"imageUri": image, "env": container["env"]}
        # --boot-disk is the ranks': their data lies on it, and a server has none.
        disk = boot_disk(job.options.reduction_server_disk)[0]
        pools.append(_pool(hardware, servers, disk, spec))
    return pools


def _pool(
    hardware: Mapping[str, Any],
    replicas: int,
    disk: Mapping[str, Any] | None,
    container: Mapping[str, Any],
    mounts: Sequence[Mapping[str, str]] = (),
) -> Mapping[str, Any]:
    return {
        "machineSpec": hardware,
        # The JSON form of a 64 bit number is a text.
        "replicaCount": str(replicas),
        "diskSpec": disk,
        "nfsMounts": mounts or None,
        "containerSpec": container,
    }


def _nfs_mounts(said: Mapping[str, str]) -> Sequence[Mapping[str, str]]:
    """NfsMount of each ``NAME=SERVER:/PATH``."""
    found = []
    for name, place in said.items():
        server, _, path = place.partition(":")
        found.append({"server": server, "path": path, "mountPoint": name})
    return found


def _affinity(reservations: Sequence[str]) -> Mapping[str, Any] | None:
    """ReservationAffinity."""
    if not reservations:
        return None
    if ANY_RESERVATION in reservations:
        return {"reservationAffinityType": "ANY_RESERVATION"}
    return {
        "reservationAffinityType": "SPECIFIC_RESERVATION",
        "key": _RESERVATION_KEY,
        "values": list(reservations),
    }
