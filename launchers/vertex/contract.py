"""What Vertex AI promises a replica of a custom job, read from a CustomJob document. Pure.

Source: Vertex AI's documentation, "Training code requirements" (the mount /gcs), and the API's
ContainerSpec; of the variables: ``replica_environment``.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from launchers.core.model.containers import Channel, Conduct, Container, Hardware
from launchers.core.model.document import at, entries, whole_number
from launchers.core.model.problems import LaunchError
from launchers.core.planning.plan import counted
from launchers.vertex.catalogue import RULES
from launchers.vertex.document import MOUNT, is_ours, mounted, seconds_of
from launchers.vertex.replica_environment import (
    OPEN_PORT,
    PORT,
    address,
    environment,
    output_base,
    pool_name,
)
from launchers.vertex.rules.pools import PROCESSES, Pool, pools, rank_pools
from launchers.vertex.rules.starts import start_of, world
from launchers.vertex.sidecars.declared import ACCESS, MACHINE_ACCOUNT
from launchers.vertex.tables import machines

_SEVEN_DAYS = 604_800  # seconds; Scheduling.timeout's default
# Exit codes after which the service runs a job again, and how often it does.
_TRANSIENT = frozenset({6, 11, 134, 139})
_RETRIES = 3
# Replicas of the service start minutes apart; so little shows whether the others wait.
_APART = 2.0
_PRIMARY_DECIDES = 12.0  # our agents leave within seconds of each other
_BOOT_DISK_GB = 100  # DiskSpec.bootDiskSizeGb's default
# Cloud Storage FUSE, "Semantics": no locks, and what is written is there once the file is closed.
_UNLIKE = (
    f"network: this machine's, every port open; the service promises {PORT} and {OPEN_PORT}",
    "/gcs has a disk's ways: Cloud Storage FUSE locks nothing, shows a file when it is closed",
)
_BUCKET = re.compile(r"(?:gs://|/gcs/)([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])")
_LINES = Path(__file__).with_name("container_lines.json")


def contract(
    document: Mapping[str, Any], ranks_per_host: int | None = None, serve_code: bool = True
) -> list[Container]:
    """What each replica of the first two pools would see, the primary replica first.

    Every bucket is a folder below /gcs, one for all replicas. Replicas of other pools run no
    ranks and get no container: :func:`conduct` says so.

    Args:
        document: The CustomJob.
        ranks_per_host: Stands for the document's own number in what the containers see; the
            document is not changed.
        serve_code: Without it the bundle is not put into its bucket.

    Raises:
        LaunchError: A pool runs a Python package, for which Google's own images are needed.
    """
    _refuse_packages(document)
    places = [(pool, index) for pool in rank_pools(document) for index in range(pool.replicas or 1)]
    ranks = _ranks(document, len(places), ranks_per_host)
    return [
        _container(document, pool, index, number, ranks[number], ranks_per_host, serve_code)
        for number, (pool, index) in enumerate(places)
    ]


def conduct(document: Mapping[str, Any]) -> Conduct:
    """How Vertex AI ends the job: when the primary replica does, whatever the others say.

    Figures: 30 s between SIGTERM and SIGKILL, as Compute Engine gives notice to a Spot machine;
    7 days where the document has no timeout (Scheduling.timeout); 3 retries of a job whose primary
    replica crashed with a code that counts as transient. Another replica that fails is not started
    again here: where the primary one goes on without it, that is said.
    """
    scheduling = at(document, "jobSpec", "scheduling")
    timeout = seconds_of(at(scheduling, "timeout"))
    whole = at(scheduling, "restartJobOnWorkerRestart") is True
    retried = at(scheduling, "disableRetries") is not True
    return Conduct.reading(
        _LINES,
        max_runtime=math.ceil(max(timeout or 0, 0)) or _SEVEN_DAYS,
        stop_grace=30.0,
        # With our agent the others leave when the primary replica does; another job's may go early.
        follow_within=60.0 if is_ours(document) else math.inf,
        start_apart=_APART,
        leader_decides=_PRIMARY_DECIDES,
        restarts=f"the service would start {'the whole job' if whole else 'it alone'} again",
        retried_codes=_TRANSIENT if retried else frozenset(),
        retries=_RETRIES if retried else 0,
        access=ACCESS,
        machine_account=MACHINE_ACCOUNT,
        image_needs=(),
        unlike=_UNLIKE,
        left_out=tuple(
            f"{counted(pool.replicas or 1, 'replica')} of pool {pool.index} (no ranks of the job) "
            "not rehearsed"
            for pool in pools(document)
            if not pool.holds_ranks
        ),
    )


def _refuse_packages(document: Mapping[str, Any]) -> None:
    problems = [
        RULES["rehearsal-package"].at(
            pool.path,
            "a pythonPackageSpec: Google's executor image installs the package when it starts",
        )
        for pool in rank_pools(document)
        if "containerSpec" not in pool.spec
    ]
    if problems:
        raise LaunchError(problems)


def _ranks(
    document: Mapping[str, Any], hosts: int, ranks_per_host: int | None
) -> list[tuple[int, ...]]:
    """The global ranks of each replica; none where each is a job of its own or nobody says."""
    nothing: list[tuple[int, ...]] = [()] * hosts
    first = rank_pools(document)[0] if hosts else None
    if first is None:
        return nothing
    if is_ours(document):
        each = ranks_per_host or whole_number(dict(first.environment).get(PROCESSES))
    else:
        found = world(document)
        launched = start_of(first).launcher and ranks_per_host is None
        whole = found.started if launched and (found.spans or hosts == 1) else None
        each = whole // hosts if whole and whole % hosts == 0 else None
    return (
        [tuple(range(host * each, (host + 1) * each)) for host in range(hosts)] if each else nothing
    )


def _container(
    document: Mapping[str, Any],
    pool: Pool,
    index: int,
    number: int,
    ranks: tuple[int, ...],
    ranks_per_host: int | None,
    serve_code: bool,
) -> Container:
    own_address = address(pool, index)
    arguments = pool.words("args")
    ours = is_ours(document)
    return Container(
        name=f"{pool_name(pool)}-{index}",
        address=own_address,
        # As on the service, a replica's own name is not the one that the others know.
        hostname=hashlib.sha256(own_address.encode()).hexdigest()[:12],
        image=pool.image,
        entrypoint=tuple(pool.words("command")),
        command=tuple(arguments),
        environment=environment(document, pool, index, number, ranks_per_host),
        files={},
        folders=tuple(f"{MOUNT}{bucket}" for bucket in _buckets(document)),
        channels=tuple(_shares(pool)),
        code=arguments[0] if ours and serve_code and arguments else "",
        code_digest=arguments[1] if ours and len(arguments) > 1 else "",
        ranks=ranks,
        leader=number == 0,
        gpus=pool.gpus,
        hardware=_hardware(pool),
        collected=_collected(document) if number == 0 else {},
        shared=(MOUNT.rstrip("/"),),
    )


def _hardware(pool: Pool) -> Hardware | None:
    found = machines.machine(pool.machine_type)
    if found is None:
        return None
    disk = whole_number(at(pool.spec, "diskSpec", "bootDiskSizeGb")) or _BOOT_DISK_GB
    return Hardware(found.name, found.vcpus, found.memory_gib, disk)


def _shares(pool: Pool) -> Iterator[Channel]:
    """NFS and Lustre shares (NfsMount, LustreMount): folders of this machine stand for them."""
    for share in entries(pool.spec, "nfsMounts"):
        name = str(share.get("mountPoint"))
        uri = f"nfs://{share.get('server')}{share.get('path')}"
        yield Channel(name=name, path=f"/mnt/nfs/{name}", uri=uri)
    for share in entries(pool.spec, "lustreMounts"):
        name = str(share.get("mountPoint"))
        uri = f"lustre://{share.get('instanceIp')}/{share.get('filesystem')}"
        yield Channel(name=name, path=f"/mnt/lustre/{name}", uri=uri)


def _collected(document: Mapping[str, Any]) -> dict[str, str]:
    base = output_base(document)
    return {name: mounted(f"{base}/{name}") for name in ("model", "logs")} if base else {}


def _buckets(document: Mapping[str, Any]) -> Sequence[str]:
    """Every bucket that the document names anywhere; on the service all of them are mounted."""
    return sorted(set(_BUCKET.findall(json.dumps(document, ensure_ascii=False))))
