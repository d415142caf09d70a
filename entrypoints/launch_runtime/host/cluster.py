"""Which hosts the job has, and which one this is.

Two sources: LAUNCH_CLUSTER, ours, and CLUSTER_SPEC, which Vertex AI sets in every replica of a
custom job. A replica's own host name is compared with neither: a container's is not the name that
the others reach it by.
"""

from __future__ import annotations

import json
from typing import Any, Mapping, NamedTuple, Sequence

from launch_runtime.environment import SettingError

# Pools whose replicas hold ranks, first to last; the older names are those that TF_CONFIG has.
# workerpool2 has parameter or reduction servers, workerpool3 an evaluator: not ours.
POOLS = ("chief", "master", "workerpool0", "worker", "workerpool1")
_NAMES_OF_ONE_POOL = (POOLS[:3], POOLS[3:])
DEFAULT_PORT = 2222  # Vertex AI opens it on every replica unless the job names others


class LoneReplicaError(SettingError):
    """The service has not told this replica who the others are.

    Attributes:
        cluster: What other variables of the service say of them, enough to tell the first host of
            this; or None.
    """

    def __init__(self, text: str, cluster: Cluster | None):
        super().__init__(text)
        self.cluster = cluster


class Host(NamedTuple):
    """A host of the job: its name in every message, and the address the others reach it by."""

    name: str
    address: str


class Cluster(NamedTuple):
    """The hosts in rank order.

    Attributes:
        hosts: The first one serves the rendezvous.
        position: This host's place in ``hosts``, from 0.
        port: The rendezvous' TCP port on the first host; 0 takes a free one (single host alone).
        managed: A service runs the hosts, and may run the job again after it lost one.
        other_ports: To be tried where nobody of the job answers on ``port``.
    """

    hosts: Sequence[Host]
    position: int
    port: int
    managed: bool
    other_ports: Sequence[int] = ()

    @property
    def own(self) -> Host:
        """This host."""
        return self.hosts[self.position]

    @property
    def first(self) -> Host:
        """The host that serves the rendezvous."""
        return self.hosts[0]


def read(environment: Mapping[str, str]) -> Cluster:
    """The cluster from LAUNCH_CLUSTER, else CLUSTER_SPEC, else this host alone.

    Raises:
        LoneReplicaError: It is missing in a job of several hosts.
        SettingError: The variable is not what it has to be, or this replica holds no ranks.
    """
    if environment.get("LAUNCH_CLUSTER"):
        return _ours(_parse("LAUNCH_CLUSTER", environment["LAUNCH_CLUSTER"]))
    if environment.get("CLUSTER_SPEC"):
        return _vertex(_parse("CLUSTER_SPEC", environment["CLUSTER_SPEC"]))
    promised = environment.get("LAUNCH_INSTANCES", "")
    if _whole(promised) > 1:
        raise LoneReplicaError(
            f"CLUSTER_SPEC is not set, though LAUNCH_INSTANCES promises {promised} hosts; "
            "expected the service's list of them, without which this replica is a job of its own",
            _hearsay(environment, _whole(promised)),
        )
    # A job of one replica may have no CLUSTER_SPEC.
    return Cluster([Host("workerpool0-0", "127.0.0.1")], 0, 0, managed=True)


def _parse(name: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise SettingError(f"{name} is not JSON: {error}; found {text:.200}") from None
    if not isinstance(value, dict):
        raise SettingError(f"{name}: found {text:.200}; expected a JSON object")
    return value


def _ours(value: dict[str, Any]) -> Cluster:
    try:
        hosts = [Host(str(host["name"]), str(host["address"])) for host in value["hosts"]]
        index, port = int(value.get("index", 0)), int(value.get("port", 0))
    except (KeyError, TypeError, ValueError) as error:
        raise SettingError(
            "LAUNCH_CLUSTER: {!r} in {}; expected {}".format(
                error,
                json.dumps(value)[:200],
                '{"hosts": [{"name": ..., "address": ...}, ...], "index": 0, "port": 2222}',
            )
        ) from None
    _check("LAUNCH_CLUSTER", hosts, index, port)
    return Cluster(hosts, index, port, managed=False)


def _vertex(value: dict[str, Any]) -> Cluster:
    pools, task = value.get("cluster"), value.get("task")
    if not isinstance(pools, dict) or not isinstance(task, dict):
        raise SettingError(
            f"CLUSTER_SPEC: found the keys {sorted(value)}; expected cluster and task"
        )
    entries = [
        (pool, number, str(entry))
        for pool in POOLS
        for number, entry in enumerate(pools.get(pool) or [])
    ]
    own = (str(task.get("type")), _whole(task.get("index", 0)))
    places = [(pool, number) for pool, number, _ in entries]
    if own not in places:
        # The list of pools and the replica's own name may be from different times of the service.
        own = next(
            (place for place in places if place[1] == own[1] and _same_pool(place[0], own[0])), own
        )
    if own not in places:
        raise SettingError(
            "CLUSTER_SPEC: this replica is {} {}, which holds no ranks of the job; expected "
            "one of {}".format(
                own[0], own[1], ", ".join("{} {}".format(*place) for place in places)
            )
        )
    hosts = [
        Host(f"{pool}-{number}", entry.rpartition(":")[0] or entry)
        for pool, number, entry in entries
    ]
    if len(hosts) == 1:
        return Cluster([Host(hosts[0].name, "127.0.0.1")], 0, 0, managed=True)
    port = _open_port(value) or _whole(entries[0][2].rpartition(":")[2]) or DEFAULT_PORT
    index = places.index(own)
    _check("CLUSTER_SPEC", hosts, index, port)
    return Cluster(hosts, index, port, managed=True)


def _hearsay(environment: Mapping[str, str], promised: int) -> Cluster | None:
    """The cluster as TF_CONFIG has it, which the service sets beside CLUSTER_SPEC; None where that
    says something else, or where this is the first host, whose end is the job's."""
    try:
        value = _parse("TF_CONFIG", environment.get("TF_CONFIG", ""))
        cluster = _vertex({key: value[key] for key in ("cluster", "task")})
    except (SettingError, KeyError, AttributeError, TypeError):
        return None
    if cluster.position == 0 or len(cluster.hosts) != promised:
        return None
    # The names that the others have from CLUSTER_SPEC.
    names = [f"workerpool{min(n, 1)}-{max(n - 1, 0)}" for n in range(promised)]
    hosts = [host._replace(name=name) for host, name in zip(cluster.hosts, names)]
    ports = [_whole(environment.get("MASTER_PORT")), cluster.port, DEFAULT_PORT]
    first, *others = dict.fromkeys(port for port in ports if 0 < port < 65536)
    return cluster._replace(hosts=hosts, port=first, other_ports=others)


def _same_pool(one: str, other: str) -> bool:
    return any(one in names and other in names for names in _NAMES_OF_ONE_POOL)


def _open_port(value: dict[str, Any]) -> int:
    ports = value.get("open_ports")
    return _whole(ports[0]) if isinstance(ports, list) and ports else 0


def _whole(value: object) -> int:
    try:
        return int(str(value))
    except ValueError:
        return 0


def _check(source: str, hosts: list[Host], index: int, port: int) -> None:
    problem = ""
    if not hosts:
        problem = "no hosts; expected at least one"
    elif not 0 <= index < len(hosts):
        problem = f"index {index}; expected 0 to {len(hosts) - 1}"
    elif not 0 <= port < 65536 or (port == 0 and len(hosts) > 1):
        problem = f"port {port}; expected 1 to 65535"
    elif len({host.name for host in hosts}) < len(hosts):
        problem = f"hosts {[host.name for host in hosts]}; expected different names"
    elif not all(host.name and host.address for host in hosts):
        problem = "a host without a name or an address"
    if problem:
        raise SettingError(f"{source}: {problem}")
