"""What a rank finds in its environment: its place in the job, and no other launcher's word."""

from __future__ import annotations

import os
from typing import Mapping

from launch_runtime import stamps
from launch_runtime.host import network
from launch_runtime.host.cluster import Cluster
from launch_runtime.host.peers.ranks_door import Meeting
from launch_runtime.host.settings import Settings

# Set by Vertex AI on distributed jobs. Keras acts on TF_CONFIG; WORLD_SIZE counts replicas.
_OTHERS = ("TF_CONFIG", "MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")
# The agent alone puts the job's stamp on a line, so that nothing that a rank prints has one, and
# speaks with the other hosts. It has taken the nonce out of its own environment already.
TAKEN_OUT = (*_OTHERS, stamps.NONCE)


def build(
    environment: Mapping[str, str],
    cluster: Cluster,
    settings: Settings,
    meeting: Meeting,
    local_rank: int,
    packages: str = "",
) -> dict[str, str]:
    """The environment of this host's rank number ``local_rank``.

    The layout is static: the global rank is host index x processes + local rank. ``meeting`` is
    where this host's agent answers for the keys of all. ``packages`` is a folder of
    packages that was installed for the ranks, or "".
    """
    hosts, processes = len(cluster.hosts), settings.processes
    given = {
        "HOROVOD_RANK": cluster.position * processes + local_rank,
        "HOROVOD_SIZE": hosts * processes,
        "HOROVOD_LOCAL_RANK": local_rank,
        "HOROVOD_LOCAL_SIZE": processes,
        "HOROVOD_CROSS_RANK": cluster.position,
        "HOROVOD_CROSS_SIZE": hosts,
        # Without it the ranks of all hosts meet in one scope and abort.
        "HOROVOD_HOSTNAME": cluster.own.name,
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": meeting.address,
        "HOROVOD_GLOO_RENDEZVOUS_PORT": meeting.port,
        # Without it a Horovod that was built with MPI starts every process as rank 0 of 1.
        "HOROVOD_CONTROLLER": "gloo",
        "HOROVOD_CPU_OPERATIONS": "gloo",
        "LAUNCH_HOST": cluster.own.name,
    }
    built = {name: value for name, value in environment.items() if name not in TAKEN_OUT}
    for name, value in _interfaces(cluster).items():
        built.setdefault(name, value)
    built.update({name: str(value) for name, value in given.items()})
    if packages:
        own = built.get("PYTHONPATH")
        built["PYTHONPATH"] = os.pathsep.join([packages, own] if own else [packages])
    return built


def _interfaces(cluster: Cluster) -> dict[str, str]:
    """Which interface Gloo and NCCL take. Gloo would else take the one of this machine's own
    name, which is a loopback address on many systems."""
    peer = cluster.hosts[1] if cluster.position == 0 and len(cluster.hosts) > 1 else cluster.first
    try:
        name = network.interface_of(network.resolve(peer.address))
    except OSError:
        return {}
    if name is None:
        return {}
    several = len(network.interfaces()) > 2 or network.is_loopback(peer.address)
    return {"HOROVOD_GLOO_IFACE": name, **({"NCCL_SOCKET_IFNAME": name} if several else {})}
