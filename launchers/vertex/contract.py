"""What Vertex AI promises a replica of a custom job, read from a CustomJob document. Pure.

Source: Vertex AI's documentation, "Distributed training" (CLUSTER_SPEC, TF_CONFIG, MASTER_ADDR),
"Training code requirements" (AIP_*, the mount /gcs), and the API's ContainerSpec and EnvVar;
facts that show in replicas alone are those of the tests for CLUSTER_SPEC.
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
from launchers.vertex.rules.pools import PROCESSES, WORLD_SIZE, Pool, pools, rank_pools
from launchers.vertex.rules.starts import start_of, world
from launchers.vertex.sidecars.declared import ACCESS, MACHINE_ACCOUNT
from launchers.vertex.tables import machines

# The service makes up an id for each job; one that stays the same makes rehearsals comparable.
JOB_NUMBER = "0123456789"
PROJECT_NUMBER = "000000000000"
PORT = 2222
OPEN_PORT = 3333
_POOL_NAME = "workerpool{}"
_TF_NAMES = ("chief", "worker", "ps", "evaluator")  # of pools 0 to 3 in TF_CONFIG
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
_REFERENCE = re.compile(r"\$\$(?=\$*\()|\$\(([^)]*)\)")
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
    address = _address(pool, index)
    arguments = pool.words("args")
    ours = is_ours(document)
    return Container(
        name=f"{_POOL_NAME.format(pool.index)}-{index}",
        address=address,
        # As on the service, a replica's own name is not the one that the others know.
        hostname=hashlib.sha256(address.encode()).hexdigest()[:12],
        image=pool.image,
        entrypoint=tuple(pool.words("command")),
        command=tuple(arguments),
        environment=_environment(document, pool, index, number, ranks_per_host),
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


def _environment(
    document: Mapping[str, Any], pool: Pool, index: int, number: int, ranks_per_host: int | None
) -> dict[str, str]:
    """The service's own variables, then the document's, which may refer to earlier ones."""
    values = {
        "CLOUD_ML_PROJECT_ID": PROJECT_NUMBER,
        "CLOUD_ML_JOB_ID": JOB_NUMBER,
        "CLUSTER_SPEC": _cluster_spec(document, pool, index),
        **_distributed(document, pool, index, number),
        **_folders(document),
    }
    for name, value in pool.environment:
        values[name] = expanded(value, values)
    if ranks_per_host is not None:
        hosts = sum(found.replicas or 1 for found in rank_pools(document))
        reduced = {PROCESSES: ranks_per_host, WORLD_SIZE: ranks_per_host * hosts}
        values.update({name: str(value) for name, value in reduced.items() if name in values})
    return values


def expanded(value: str, known: Mapping[str, str]) -> str:
    """``$(NAME)`` replaced by a variable that was set before; ``$$(NAME)`` stands for ``$(NAME)``,
    and a name that is not known stays as it is (the API's EnvVar.value).

    Example:
        >>> expanded("$(A)/x $$(A) $(B)", {"A": "1"})
        '1/x $(A) $(B)'
    """

    def replaced(match: re.Match[str]) -> str:
        if match[1] is None:
            return "$"
        return known.get(match[1], match[0])

    return _REFERENCE.sub(replaced, value)


def _cluster_spec(document: Mapping[str, Any], pool: Pool, index: int) -> str:
    task = {"type": _POOL_NAME.format(pool.index), "index": index}
    spec = {
        "cluster": {_POOL_NAME.format(found.index): _addresses(found) for found in pools(document)},
        "environment": "cloud",
        "task": task,
        # A text of JSON, as replicas have been seen to get it.
        "job": json.dumps({"worker_pools": len(pools(document))}),
        "open_ports": [OPEN_PORT],
    }
    return json.dumps(spec)


def _distributed(
    document: Mapping[str, Any], pool: Pool, index: int, number: int
) -> dict[str, str]:
    """What a job of several replicas gets for TensorFlow's and PyTorch's own strategies."""
    all_pools = pools(document)
    if sum(found.replicas or 1 for found in all_pools) < 2:
        return {}
    cluster = {_TF_NAMES[found.index]: _addresses(found) for found in all_pools if found.index < 4}
    task = {"type": _TF_NAMES[pool.index], "index": index}
    config = {"cluster": cluster, "task": task, "environment": "cloud"}
    return {
        "TF_CONFIG": json.dumps(config),
        "MASTER_ADDR": _address(rank_pools(document)[0], 0),
        "MASTER_PORT": str(OPEN_PORT),
        "RANK": str(number),
        "WORLD_SIZE": str(sum(found.replicas or 1 for found in rank_pools(document))),
    }


def _folders(document: Mapping[str, Any]) -> dict[str, str]:
    """AIP_*, which a base output directory gives: addresses, not paths of the mount."""
    base = _base(document)
    names = {"AIP_MODEL_DIR": "model", "AIP_CHECKPOINT_DIR": "checkpoints"}
    names["AIP_TENSORBOARD_LOG_DIR"] = "logs"
    return {name: f"{base}/{folder}/" for name, folder in names.items()} if base else {}


def _collected(document: Mapping[str, Any]) -> dict[str, str]:
    base = _base(document)
    return {name: mounted(f"{base}/{name}") for name in ("model", "logs")} if base else {}


def _base(document: Mapping[str, Any]) -> str:
    prefix = at(document, "jobSpec", "baseOutputDirectory", "outputUriPrefix")
    return prefix.rstrip("/") if isinstance(prefix, str) else ""


def _addresses(pool: Pool) -> list[str]:
    return [f"{_address(pool, index)}:{PORT}" for index in range(pool.replicas or 1)]


def _address(pool: Pool, index: int) -> str:
    return f"cmle-training-{_POOL_NAME.format(pool.index)}-{JOB_NUMBER}-{index}"


def _buckets(document: Mapping[str, Any]) -> Sequence[str]:
    """Every bucket that the document names anywhere; on the service all of them are mounted."""
    return sorted(set(_BUCKET.findall(json.dumps(document, ensure_ascii=False))))
