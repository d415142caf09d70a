"""What a rank finds in its environment: its place in the job, and no other launcher's word."""

from __future__ import annotations

import os
from typing import Mapping, Sequence

from launch_runtime import stamps
from launch_runtime.host import network
from launch_runtime.host.cluster import Cluster
from launch_runtime.host.peers.ranks_door import Meeting
from launch_runtime.host.settings import Settings
from launch_runtime.rank.identity import SEAT
from launch_runtime.strategies.strategy import Contact, Seat

# The agent alone puts the job's stamp on a line, so that nothing that a rank prints has one, and
# speaks with the other hosts. It has taken the nonce out of its own environment already.
_TAKEN_OUT = (stamps.NONCE,)


def build(
    environment: Mapping[str, str],
    cluster: Cluster,
    settings: Settings,
    meeting: Meeting,
    local_rank: int,
    packages: str = "",
    contacts: Sequence[Contact] = (),
) -> dict[str, str]:
    """The environment of this host's rank number ``local_rank``.

    Args:
        environment: The agent's own.
        cluster: The hosts.
        settings: This host's.
        meeting: Where this host's agent answers for the keys of all.
        local_rank: From 0.
        packages: A folder of packages that was installed for the ranks, or "".
        contacts: An address and a free port of each host, where the strategy asks for them.
    """
    strategy, seat = settings.strategy, _seat(cluster, settings, meeting, local_rank, contacts)
    taken = {*_TAKEN_OUT, *strategy.taken_out}
    built = {name: value for name, value in environment.items() if name not in taken}
    for name, value in strategy.defaults(seat, built).items():
        built.setdefault(name, value)
    built.update(strategy.variables(seat))
    built["LAUNCH_HOST"] = seat.host
    built[SEAT] = f"{seat.size} {seat.rank} {seat.processes} {seat.local_rank}"
    if packages:
        own = built.get("PYTHONPATH")
        built["PYTHONPATH"] = os.pathsep.join([packages, own] if own else [packages])
    return built


def _seat(
    cluster: Cluster,
    settings: Settings,
    meeting: Meeting,
    local_rank: int,
    contacts: Sequence[Contact],
) -> Seat:
    interface, several = _interface(cluster)
    return Seat(
        host=cluster.own.name,
        position=cluster.position,
        hosts=len(cluster.hosts),
        processes=settings.processes,
        local_rank=local_rank,
        job=settings.job,
        keys=Contact(meeting.address, meeting.port),
        contacts=contacts,
        interface=interface,
        several=several,
    )


def _interface(cluster: Cluster) -> tuple[str, bool]:
    """Which interface leads to the other hosts, or "", and whether there is a choice."""
    peer = cluster.hosts[1] if cluster.position == 0 and len(cluster.hosts) > 1 else cluster.first
    try:
        name = network.interface_of(network.resolve(peer.address))
    except OSError:
        return "", False
    if name is None:
        return "", False
    return name, len(network.interfaces()) > 2 or network.is_loopback(peer.address)
