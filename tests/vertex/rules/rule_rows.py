"""One row a rule of a CustomJob: a change that keeps it, and one that breaks it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from launchers.vertex.rules.document import as_custom_job
from tests.vertex.documents import CAPTURED, rendered

Document = dict[str, Any]
IMAGE = "us-docker.pkg.dev/p/r/hvd:1"
POOL, WORKERS, SERVERS = (f"jobSpec.workerPoolSpecs.{index}" for index in range(3))


@lru_cache(maxsize=4)
def _rendered(**asked: Any) -> str:
    return json.dumps(rendered(image=IMAGE, **asked))


def ours() -> Document:
    """What `launch vertex --instances 2 --gpus 4` renders, as a fresh copy."""
    return json.loads(_rendered())


def with_servers() -> Document:
    """The same with two reduction servers."""
    return json.loads(_rendered(reduction_servers=2))


def foreign() -> Document:
    """What the official client sent for a chief with three workers (a captured request)."""
    return captured("chief_3workers")


def captured(name: str) -> Document:
    """A request that the real client sent, with names for numbers."""
    return as_custom_job(json.loads((CAPTURED / f"{name}.json").read_text(encoding="utf-8")))


BASES = {"ours": ours, "with servers": with_servers, "foreign": foreign}
Change = Callable[[Document], None]


def put(path: str, value: Any) -> Change:
    """Sets what stands at ``a.b.0.c``, with what leads there."""

    def change(document: Document) -> None:
        *folders, last = [int(step) if step.isdecimal() else step for step in path.split(".")]
        place: Any = document
        for folder in folders:
            place = place[folder] if isinstance(folder, int) else place.setdefault(folder, {})
        if value is ...:
            place.pop(last)
        else:
            place[last] = value

    return change


def env(name: str, value: str | None, *pools: str) -> Change:
    """Sets a variable in pools, by default in both with ranks; None takes it out."""

    def change(document: Document) -> None:
        for pool in pools or (POOL, WORKERS):
            index = int(pool.rpartition(".")[2])
            container = document["jobSpec"]["workerPoolSpecs"][index]["containerSpec"]
            container["env"] = [item for item in container["env"] if item["name"] != name]
            if value is not None:
                container["env"].append({"name": name, "value": value})

    return change


def both(path: str, value: Any) -> Change:
    """Sets the same in both pools with ranks."""
    return every(put(f"{POOL}.{path}", value), put(f"{WORKERS}.{path}", value))


def every(*changes: Change) -> Change:
    def change(document: Document) -> None:
        for one in changes:
            one(document)

    return change


def machine(name: str, accelerator: str | None = None, count: int | None = None) -> Change:
    spec: Document = {"machineType": name}
    if accelerator:
        spec |= {"acceleratorType": accelerator, "acceleratorCount": count}
    return both("machineSpec", spec)


def cut(name: str, accelerator: str, count: int, size: str) -> Change:
    """GPUs in MIG instances."""

    def change(document: Document) -> None:
        for pool in document["jobSpec"]["workerPoolSpecs"][:2]:
            spec = {"machineType": name, "acceleratorType": accelerator}
            pool["machineSpec"] = {**spec, "acceleratorCount": count, "gpuPartitionSize": size}

    return change


def alone(document: Document) -> None:
    """Only the primary replica."""
    del document["jobSpec"]["workerPoolSpecs"][1:]


A3 = machine("a3-highgpu-4g", "NVIDIA_H100_80GB", 4)
SCHEDULING, SPEC = "jobSpec.scheduling", "jobSpec"
PSC = "jobSpec.pscInterfaceConfig"
BOARD = "projects/p/locations/us-central1/tensorboards/1"
ACCOUNT = "sa@p.iam.gserviceaccount.com"
MEETING = both(
    "containerSpec",
    {
        "imageUri": IMAGE,
        "command": ["torchrun", "--nnodes=4", "--nproc_per_node=4", "--rdzv_backend=c10d"],
        "args": ["--rdzv_endpoint=host:1", "t.py"],
    },
)
SHELL = f"{POOL}.containerSpec"
SEVEN = ["--standalone", "--nproc_per_node=7", "t.py"]


def reserved(kind: str, **named: Any) -> Change:
    affinity = {"reservationAffinityType": kind, **named}
    return both("machineSpec.reservationAffinity", affinity)


def script(text: str) -> Change:
    return both("containerSpec", {"imageUri": IMAGE, "command": ["bash", "-c", text]})


EXPERIMENT = "projects/p/locations/us-central1/metadataStores/default/contexts/e"
RESERVATION = "projects/p/zones/us-central1-a/reservations/r"
NAMED = {"key": "compute.googleapis.com/reservation-name", "values": [RESERVATION]}
NOTHING: Change = lambda document: None  # noqa: E731 - a good document as it is
ONE_PROCESS = every(env("LAUNCH_STRATEGY", "tensorflow"), env("LAUNCH_PROCESSES", "1"))

# what is tried, on which document, a change that keeps the rule, one that breaks it,
# the path and the rule that are told, and how grave it is
RULES: list[tuple[str, str, Change, Change, str, str, str]] = [
    # machines and accelerators
    (
        "an n1 with T4 beside it",
        "foreign",
        machine("n1-standard-16", "NVIDIA_TESLA_T4", 2),
        machine("n1-standard-16", "NVIDIA_TESLA_T4", 3),
        f"{POOL}.machineSpec.acceleratorCount",
        "accelerator-pair",
        "error",
    ),
    (
        "V100 on the right n1",
        "foreign",
        machine("n1-standard-8", "NVIDIA_TESLA_V100", 1),
        machine("n1-standard-16", "NVIDIA_TESLA_V100", 1),
        f"{POOL}.machineSpec.acceleratorCount",
        "accelerator-pair",
        "error",
    ),
    (
        "a machine's own GPUs",
        "ours",
        machine("a2-highgpu-4g", "NVIDIA_TESLA_A100", 4),
        machine("a2-highgpu-4g", "NVIDIA_TESLA_A100", 2),
        f"{POOL}.machineSpec.acceleratorCount",
        "accelerator-pair",
        "error",
    ),
    (
        "a machine's own kind of GPU",
        "ours",
        machine("a2-ultragpu-4g", "NVIDIA_A100_80GB", 4),
        machine("a2-ultragpu-4g", "NVIDIA_TESLA_A100", 4),
        f"{POOL}.machineSpec.acceleratorCount",
        "accelerator-pair",
        "error",
    ),
    (
        "a machine that takes no accelerator",
        "foreign",
        machine("n2-standard-16"),
        machine("n2-standard-16", "NVIDIA_TESLA_T4", 4),
        f"{POOL}.machineSpec.acceleratorCount",
        "accelerator-pair",
        "error",
    ),
    (
        "a count with its type",
        "foreign",
        put(f"{POOL}.machineSpec.acceleratorCount", 4),
        put(f"{POOL}.machineSpec.acceleratorCount", 0),
        f"{POOL}.machineSpec.acceleratorCount",
        "accelerator-count",
        "error",
    ),
    (
        "a type without its count",
        "foreign",
        NOTHING,
        put(f"{POOL}.machineSpec.acceleratorCount", ...),
        f"{POOL}.machineSpec.acceleratorCount",
        "accelerator-count",
        "error",
    ),
    (
        "a count without its type",
        "foreign",
        NOTHING,
        put(f"{POOL}.machineSpec.acceleratorType", ...),
        f"{POOL}.machineSpec.acceleratorType",
        "accelerator-type",
        "error",
    ),
    (
        "a type that says nothing",
        "foreign",
        NOTHING,
        put(f"{POOL}.machineSpec.acceleratorType", "ACCELERATOR_TYPE_UNSPECIFIED"),
        f"{POOL}.machineSpec.acceleratorType",
        "accelerator-type",
        "error",
    ),
    (
        "a machine's GPUs by name",
        "ours",
        NOTHING,
        machine("g2-standard-48"),
        f"{POOL}.machineSpec.acceleratorType",
        "accelerator-type",
        "error",
    ),
    (
        "a machine's GPUs by name, elsewhere",
        "foreign",
        machine("g2-standard-48", "NVIDIA_L4", 4),
        machine("g2-standard-48"),
        f"{POOL}.machineSpec.acceleratorType",
        "accelerator-type",
        "warning",
    ),
    (
        "a size of the GPU's own MIG instances",
        "foreign",
        cut("a2-ultragpu-1g", "NVIDIA_A100_80GB", 1, "1g.10gb"),
        cut("a2-ultragpu-1g", "NVIDIA_A100_80GB", 1, "1g.5gb"),
        f"{POOL}.machineSpec.gpuPartitionSize",
        "partition-size",
        "error",
    ),
    (
        "MIG on a GPU that has it",
        "foreign",
        cut("a2-highgpu-1g", "NVIDIA_TESLA_A100", 1, "3g.20gb"),
        cut("n1-standard-8", "NVIDIA_TESLA_T4", 1, "3g.20gb"),
        f"{POOL}.machineSpec.gpuPartitionSize",
        "partition-size",
        "error",
    ),
    (
        "MIG on a machine with a GPU",
        "foreign",
        both("machineSpec", {"machineType": "a2-highgpu-1g", "gpuPartitionSize": "7g.40gb"}),
        both("machineSpec", {"machineType": "n1-standard-8", "gpuPartitionSize": "7g.40gb"}),
        f"{POOL}.machineSpec.gpuPartitionSize",
        "partition-size",
        "error",
    ),
    (
        "one GPU in MIG instances",
        "foreign",
        cut("a2-ultragpu-1g", "NVIDIA_A100_80GB", 1, "1g.10gb"),
        cut("a2-ultragpu-8g", "NVIDIA_A100_80GB", 8, "1g.10gb"),
        f"{POOL}.machineSpec.acceleratorCount",
        "partition-count",
        "warning",
    ),
    (
        "one rank on a MIG instance",
        "ours",
        every(
            cut("a2-ultragpu-1g", "NVIDIA_A100_80GB", 1, "1g.10gb"),
            env("LAUNCH_PROCESSES", "1"),
            env("LAUNCH_WORLD_SIZE", "2"),
        ),
        every(
            cut("a2-ultragpu-1g", "NVIDIA_A100_80GB", 1, "1g.10gb"),
            env("LAUNCH_PROCESSES", "7"),
            env("LAUNCH_WORLD_SIZE", "14"),
        ),
        f"{POOL}.containerSpec.env.LAUNCH_PROCESSES",
        "partition-ranks",
        "error",
    ),
    (
        "one process on a MIG instance",
        "foreign",
        NOTHING,
        every(
            cut("a2-ultragpu-1g", "NVIDIA_A100_80GB", 1, "1g.10gb"),
            both("containerSpec", {"imageUri": IMAGE, "command": ["torchrun"], "args": SEVEN}),
        ),
        f"{POOL}.containerSpec",
        "partition-ranks",
        "warning",
    ),
    (
        "like MIG instances in both pools",
        "ours",
        NOTHING,
        every(
            cut("a2-ultragpu-1g", "NVIDIA_A100_80GB", 1, "1g.10gb"),
            put(f"{WORKERS}.machineSpec.gpuPartitionSize", "3g.40gb"),
        ),
        f"{WORKERS}.machineSpec",
        "pools-unlike",
        "error",
    ),
    (
        "an accelerator that is left",
        "foreign",
        NOTHING,
        machine("n1-standard-16", "NVIDIA_TESLA_K80", 4),
        f"{POOL}.machineSpec.acceleratorType",
        "accelerator-ended",
        "error",
    ),
    (
        "another accelerator that is left",
        "foreign",
        NOTHING,
        machine("n1-standard-16", "NVIDIA_TESLA_P100", 4),
        f"{POOL}.machineSpec.acceleratorType",
        "accelerator-ended",
        "error",
    ),
    (
        "no TPU",
        "foreign",
        NOTHING,
        machine("cloud-tpu"),
        f"{POOL}.machineSpec.machineType",
        "no-tpu",
        "error",
    ),
    (
        "no TPU beside a machine",
        "foreign",
        NOTHING,
        machine("n1-standard-16", "TPU_V3", 8),
        f"{POOL}.machineSpec.acceleratorType",
        "no-tpu",
        "error",
    ),
    (
        "a known machine",
        "ours",
        NOTHING,
        put(f"{POOL}.machineSpec.machineType", "g2-standard-84"),
        f"{POOL}.machineSpec.machineType",
        "machine-unknown",
        "error",
    ),
    (
        "a known machine, elsewhere",
        "foreign",
        NOTHING,
        put(f"{POOL}.machineSpec.machineType", "n1-standrd-16"),
        f"{POOL}.machineSpec.machineType",
        "machine-unknown",
        "warning",
    ),
    (
        "a machine at all",
        "foreign",
        NOTHING,
        put(f"{WORKERS}.machineSpec", ...),
        f"{WORKERS}.machineSpec.machineType",
        "machine-missing",
        "error",
    ),
    (
        "like machines in both pools",
        "ours",
        NOTHING,
        put(f"{WORKERS}.machineSpec.machineType", "g2-standard-96"),
        f"{WORKERS}.machineSpec",
        "pools-unlike",
        "error",
    ),
    (
        "like machines in both pools, elsewhere",
        "foreign",
        MEETING,
        every(MEETING, put(f"{WORKERS}.machineSpec.machineType", "n1-standard-8")),
        f"{WORKERS}.machineSpec",
        "pools-unlike",
        "warning",
    ),
    (
        "a disk's size",
        "foreign",
        put(f"{POOL}.diskSpec.bootDiskSizeGb", 64000),
        put(f"{POOL}.diskSpec.bootDiskSizeGb", 64001),
        f"{POOL}.diskSpec.bootDiskSizeGb",
        "disk-size",
        "error",
    ),
    (
        "a disk's least size",
        "foreign",
        put(f"{POOL}.diskSpec.bootDiskSizeGb", "100"),
        put(f"{POOL}.diskSpec.bootDiskSizeGb", "99"),
        f"{POOL}.diskSpec.bootDiskSizeGb",
        "disk-size",
        "error",
    ),
    (
        "a disk's type",
        "foreign",
        put(f"{POOL}.diskSpec.bootDiskType", "pd-standard"),
        put(f"{POOL}.diskSpec.bootDiskType", "pd_ssd"),
        f"{POOL}.diskSpec.bootDiskType",
        "disk-type",
        "error",
    ),
    (
        "the disk of an A3 Ultra",
        "ours",
        every(
            machine("a3-ultragpu-8g", "NVIDIA_H200_141GB", 8),
            both("diskSpec", {"bootDiskType": "hyperdisk-balanced", "bootDiskSizeGb": 200}),
        ),
        every(
            machine("a3-ultragpu-8g", "NVIDIA_H200_141GB", 8),
            both("diskSpec", {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 200}),
        ),
        f"{POOL}.diskSpec.bootDiskType",
        "disk-machine",
        "warning",
    ),
    # scheduling
    (
        "FLEX_START on what it has",
        "ours",
        put(f"{SCHEDULING}.strategy", "FLEX_START"),
        every(
            machine("n1-standard-16", "NVIDIA_TESLA_T4", 4),
            put(f"{SCHEDULING}.strategy", "FLEX_START"),
        ),
        f"{POOL}.machineSpec",
        "flex-start",
        "error",
    ),
    (
        "FLEX_START without a GPU",
        "foreign",
        NOTHING,
        every(machine("n1-standard-16"), put(f"{SCHEDULING}.strategy", "FLEX_START")),
        f"{POOL}.machineSpec",
        "flex-start",
        "error",
    ),
    (
        "FLEX_START for seven days",
        "ours",
        put(SCHEDULING, {"strategy": "FLEX_START", "timeout": "604800s"}),
        put(SCHEDULING, {"strategy": "FLEX_START", "timeout": "604801s"}),
        f"{SCHEDULING}.timeout",
        "flex-start",
        "error",
    ),
    (
        "FLEX_START with the same machines in all pools",
        "with servers",
        NOTHING,
        put(f"{SCHEDULING}.strategy", "FLEX_START"),
        f"{SERVERS}.machineSpec",
        "flex-start",
        "error",
    ),
    (
        "a small a3",
        "ours",
        every(A3, put(f"{SCHEDULING}.strategy", "SPOT")),
        A3,
        f"{SCHEDULING}.strategy",
        "strategy-machine",
        "error",
    ),
    (
        "a wait that ends",
        "ours",
        every(
            put(f"{SCHEDULING}.strategy", "FLEX_START"), put(f"{SCHEDULING}.maxWaitDuration", "0s")
        ),
        put(f"{SCHEDULING}.maxWaitDuration", "3600s"),
        f"{SCHEDULING}.maxWaitDuration",
        "max-wait",
        "warning",
    ),
    (
        "a wait below zero",
        "ours",
        NOTHING,
        every(
            put(f"{SCHEDULING}.strategy", "FLEX_START"), put(f"{SCHEDULING}.maxWaitDuration", "-1s")
        ),
        f"{SCHEDULING}.maxWaitDuration",
        "max-wait",
        "error",
    ),
    (
        "a time to run",
        "foreign",
        put(f"{SCHEDULING}.timeout", "1s"),
        put(f"{SCHEDULING}.timeout", "0s"),
        f"{SCHEDULING}.timeout",
        "timeout-positive",
        "error",
    ),
    (
        "a restart of the whole job",
        "ours",
        NOTHING,
        put(f"{SCHEDULING}.restartJobOnWorkerRestart", False),
        f"{SCHEDULING}.restartJobOnWorkerRestart",
        "restart-job",
        "error",
    ),
    (
        "a restart of the whole job, elsewhere",
        "foreign",
        every(MEETING, put(f"{SCHEDULING}.restartJobOnWorkerRestart", True)),
        MEETING,
        f"{SCHEDULING}.restartJobOnWorkerRestart",
        "restart-job",
        "warning",
    ),
    (
        "a restart of one replica",
        "foreign",
        NOTHING,  # Each replica is a world of its own.
        MEETING,
        f"{SCHEDULING}.restartJobOnWorkerRestart",
        "restart-job",
        "warning",
    ),
    (
        "a restart or none",
        "foreign",
        put(SCHEDULING, {"disableRetries": True}),
        put(SCHEDULING, {"disableRetries": True, "restartJobOnWorkerRestart": True}),
        f"{SCHEDULING}.disableRetries",
        "restart-job",
        "warning",
    ),
    (
        "spot with retries",
        "ours",
        put(f"{SCHEDULING}.strategy", "SPOT"),
        every(put(f"{SCHEDULING}.strategy", "SPOT"), put(f"{SCHEDULING}.disableRetries", True)),
        f"{SCHEDULING}.disableRetries",
        "spot-retries",
        "warning",
    ),
    (
        "an experiment's account",
        "ours",
        NOTHING,
        put(f"{SPEC}.experiment", EXPERIMENT),
        f"{SPEC}.serviceAccount",
        "experiment",
        "warning",
    ),
    (
        "a network for a mount",
        "ours",
        NOTHING,
        both("nfsMounts", [{"server": "10.0.0.2", "path": "/a", "mountPoint": "b"}]),
        f"{POOL}.nfsMounts",
        "mount-network",
        "error",
    ),
    (
        "a reservation or spot",
        "ours",
        reserved("SPECIFIC_RESERVATION", **NAMED),
        every(reserved("SPECIFIC_RESERVATION", **NAMED), put(f"{SCHEDULING}.strategy", "SPOT")),
        f"{POOL}.machineSpec.reservationAffinity",
        "reservation-strategy",
        "error",
    ),
    (
        "any reservation or FLEX_START",
        "ours",
        reserved("ANY_RESERVATION"),
        every(reserved("ANY_RESERVATION"), put(f"{SCHEDULING}.strategy", "FLEX_START")),
        f"{POOL}.machineSpec.reservationAffinity",
        "reservation-strategy",
        "error",
    ),
    (
        "any reservation or FLEX_START, elsewhere",
        "foreign",
        reserved("ANY_RESERVATION"),
        every(reserved("ANY_RESERVATION"), put(f"{SCHEDULING}.strategy", "SPOT")),
        f"{POOL}.machineSpec.reservationAffinity",
        "reservation-strategy",
        "warning",
    ),
    (
        "a reservation or a persistent resource",
        "ours",
        reserved("SPECIFIC_RESERVATION", **NAMED),
        every(
            reserved("SPECIFIC_RESERVATION", **NAMED), put(f"{SPEC}.persistentResourceId", "mine")
        ),
        f"{POOL}.machineSpec.reservationAffinity",
        "persistent-reservation",
        "error",
    ),
    (
        "a reservation or a persistent resource, elsewhere",
        "foreign",
        put(f"{SPEC}.persistentResourceId", "mine"),
        every(reserved("ANY_RESERVATION"), put(f"{SPEC}.persistentResourceId", "mine")),
        f"{POOL}.machineSpec.reservationAffinity",
        "persistent-reservation",
        "warning",
    ),
    (
        "a reservation by name",
        "ours",
        reserved("SPECIFIC_RESERVATION", **NAMED),
        reserved("SPECIFIC_RESERVATION"),
        f"{POOL}.machineSpec.reservationAffinity.values",
        "reservation",
        "error",
    ),
    (
        "a reservation by its full name",
        "ours",
        reserved(
            "SPECIFIC_RESERVATION", **{**NAMED, "values": [f"{RESERVATION}/reservationBlocks/b"]}
        ),
        reserved("SPECIFIC_RESERVATION", **{**NAMED, "values": ["r"]}),
        f"{POOL}.machineSpec.reservationAffinity.values.0",
        "reservation",
        "error",
    ),
    (
        "a strategy on a persistent resource",
        "ours",
        put(f"{SPEC}.persistentResourceId", "mine"),
        every(
            put(f"{SPEC}.persistentResourceId", "mine"), put(f"{SCHEDULING}.strategy", "FLEX_START")
        ),
        f"{SCHEDULING}.strategy",
        "persistent-strategy",
        "error",
    ),
    (
        "a machine that is only reserved",
        "foreign",
        every(
            machine("a4x-highgpu-4g", "NVIDIA_GB200", 4), reserved("SPECIFIC_RESERVATION", **NAMED)
        ),
        machine("a4x-highgpu-4g", "NVIDIA_GB200", 4),
        f"{POOL}.machineSpec.reservationAffinity",
        "reservation",
        "error",
    ),
    # names, labels, addresses
    (
        "the name's length",
        "foreign",
        put("displayName", "é" * 128),
        put("displayName", "é" * 129),
        "displayName",
        "display-name",
        "error",
    ),
    (
        "a label's key",
        "foreign",
        put("labels", {"équipe_2-x": "x"}),
        put("labels", {"Team": "x"}),
        "labels.Team",
        "label-text",
        "error",
    ),
    (
        "a label that begins with a letter",
        "foreign",
        NOTHING,
        put("labels", {"2x": ""}),
        "labels.2x",
        "label-text",
        "error",
    ),
    (
        "a label's value",
        "foreign",
        put("labels", {"x": "a" * 63}),
        put("labels", {"x": "a" * 64}),
        "labels.x",
        "label-text",
        "error",
    ),
    (
        "a label without blanks",
        "foreign",
        put("labels", {"x": "a_b-1"}),
        put("labels", {"x": "a b"}),
        "labels.x",
        "label-text",
        "error",
    ),
    (
        "the number of labels",
        "foreign",
        put("labels", {f"l{n}": "" for n in range(64)}),
        put("labels", {f"l{n}": "" for n in range(65)}),
        "labels",
        "label-count",
        "error",
    ),
    (
        "a network by the project's number",
        "foreign",
        put(f"{SPEC}.network", "projects/123/global/networks/default"),
        put(f"{SPEC}.network", "projects/my-project/global/networks/default"),
        f"{SPEC}.network",
        "resource-address",
        "error",
    ),
    (
        "ranges of a network",
        "foreign",
        every(
            put(f"{SPEC}.reservedIpRanges", ["a"]),
            put(f"{SPEC}.network", "projects/123/global/networks/default"),
        ),
        put(f"{SPEC}.reservedIpRanges", ["a"]),
        f"{SPEC}.reservedIpRanges",
        "reserved-ip",
        "error",
    ),
    (
        "a persistent resource by its ID",
        "foreign",
        put(f"{SPEC}.persistentResourceId", "a-1"),
        put(f"{SPEC}.persistentResourceId", "projects/p/locations/l/persistentResources/a"),
        f"{SPEC}.persistentResourceId",
        "resource-address",
        "error",
    ),
    (
        "a network or an interface",
        "foreign",
        put(f"{PSC}.networkAttachment", "projects/p/regions/r/networkAttachments/n"),
        every(
            put(f"{PSC}.networkAttachment", "n"),
            put(f"{SPEC}.network", "projects/1/global/networks/n"),
        ),
        f"{SPEC}.network",
        "network-twice",
        "error",
    ),
    (
        "a network attachment",
        "foreign",
        put(f"{PSC}.networkAttachment", "name"),
        put(f"{PSC}.networkAttachment", "regions/r/networkAttachments/n"),
        f"{PSC}.networkAttachment",
        "resource-address",
        "error",
    ),
    (
        "a service account",
        "foreign",
        put(f"{SPEC}.serviceAccount", "123-compute@developer.gserviceaccount.com"),
        put(f"{SPEC}.serviceAccount", "me@example.com"),
        f"{SPEC}.serviceAccount",
        "resource-address",
        "error",
    ),
    (
        "a TensorBoard with its service account",
        "foreign",
        every(put(f"{SPEC}.tensorboard", BOARD), put(f"{SPEC}.serviceAccount", ACCOUNT)),
        put(f"{SPEC}.tensorboard", BOARD),
        f"{SPEC}.serviceAccount",
        "tensorboard",
        "error",
    ),
    (
        "a TensorBoard's name",
        "foreign",
        put(f"{SPEC}.tensorboard", BOARD),
        put(f"{SPEC}.tensorboard", "1"),
        f"{SPEC}.tensorboard",
        "resource-address",
        "error",
    ),
    (
        "where output goes",
        "foreign",
        put(f"{SPEC}.baseOutputDirectory.outputUriPrefix", "gs://b-1.x/a b"),
        put(f"{SPEC}.baseOutputDirectory.outputUriPrefix", "/gcs/bucket"),
        f"{SPEC}.baseOutputDirectory.outputUriPrefix",
        "resource-address",
        "error",
    ),
    (
        "a key",
        "foreign",
        put("encryptionSpec.kmsKeyName", "projects/p/locations/l/keyRings/r/cryptoKeys/k"),
        put("encryptionSpec.kmsKeyName", "k"),
        "encryptionSpec.kmsKeyName",
        "resource-address",
        "error",
    ),
    # images
    (
        "an image's address",
        "foreign",
        NOTHING,
        put(f"{POOL}.containerSpec.imageUri", "https://us-docker.pkg.dev/p/r/i:1"),
        f"{POOL}.containerSpec.imageUri",
        "image-address",
        "error",
    ),
    (
        "an image without capitals",
        "foreign",
        put(f"{POOL}.containerSpec.imageUri", "gcr.io/p/i@sha256:" + "0" * 64),
        put(f"{POOL}.containerSpec.imageUri", "gcr.io/P/i:1"),
        f"{POOL}.containerSpec.imageUri",
        "image-address",
        "error",
    ),
    (
        "an image's tag",
        "foreign",
        put(f"{POOL}.containerSpec.imageUri", "eu.gcr.io/p/i:1"),
        put(f"{POOL}.containerSpec.imageUri", "eu.gcr.io/p/i:latest"),
        f"{POOL}.containerSpec.imageUri",
        "image-tag",
        "warning",
    ),
    (
        "an image without a tag",
        "foreign",
        NOTHING,
        put(f"{POOL}.containerSpec.imageUri", "gcr.io/p/i"),
        f"{POOL}.containerSpec.imageUri",
        "image-tag",
        "warning",
    ),
    (
        "an image that can be pulled",
        "foreign",
        NOTHING,
        put(f"{POOL}.containerSpec.imageUri", "1.dkr.ecr.us-east-1.amazonaws.com/i:1"),
        f"{POOL}.containerSpec.imageUri",
        "image-registry",
        "error",
    ),
    (
        "an image of this machine",
        "ours",
        NOTHING,
        both("containerSpec.imageUri", "localhost:5000/i:1"),
        f"{POOL}.containerSpec.imageUri",
        "image-registry",
        "error",
    ),
    (
        "an image of Docker Hub",
        "foreign",
        NOTHING,
        put(f"{POOL}.containerSpec.imageUri", "horovod/horovod:0.28.1"),
        f"{POOL}.containerSpec.imageUri",
        "image-registry",
        "warning",
    ),
    (
        "an image of another registry",
        "foreign",
        NOTHING,
        put(f"{POOL}.containerSpec.imageUri", "ghcr.io/o/i:1"),
        f"{POOL}.containerSpec.imageUri",
        "image-registry",
        "warning",
    ),
    (
        "an image with Horovod",
        "foreign",
        NOTHING,
        put(
            f"{POOL}.containerSpec.imageUri",
            "us-docker.pkg.dev/vertex-ai/training/tf-gpu.2-12.py310:latest",
        ),
        f"{POOL}.containerSpec.imageUri",
        "image-horovod",
        "error",
    ),
    # the pools
    (
        "one primary replica",
        "foreign",
        NOTHING,
        put(f"{POOL}.replicaCount", "4"),
        f"{POOL}.replicaCount",
        "pool-primary",
        "error",
    ),
    (
        "one primary replica and no second",
        "foreign",
        NOTHING,
        put(f"{POOL}.replicaCount", "2"),
        f"{POOL}.replicaCount",
        "pool-primary",
        "error",
    ),
    (
        "a primary replica at all",
        "foreign",
        NOTHING,
        put(f"{POOL}.replicaCount", "0"),
        f"{POOL}.replicaCount",
        "pool-primary",
        "error",
    ),
    (
        "one worker at least",
        "foreign",
        put(f"{WORKERS}.replicaCount", "1"),
        put(f"{WORKERS}.replicaCount", "-1"),
        f"{WORKERS}.replicaCount",
        "pool-replicas",
        "error",
    ),
    (
        "replicas that a job may have",
        "foreign",
        put(f"{WORKERS}.replicaCount", "1000000"),
        put(f"{WORKERS}.replicaCount", str(2**63 - 1)),
        f"{WORKERS}.replicaCount",
        "pool-replicas",
        "error",
    ),
    ("a first pool", "foreign", NOTHING, put(POOL, {}), POOL, "pool-primary", "error"),
    (
        "workers, or no pool of them",
        "foreign",
        put(WORKERS, {}),
        put(f"{WORKERS}.replicaCount", "0"),
        f"{WORKERS}.replicaCount",
        "pool-replicas",
        "error",
    ),
    (
        "something to run",
        "foreign",
        NOTHING,
        put(f"{WORKERS}.containerSpec", ...),
        WORKERS,
        "pool-task",
        "error",
    ),
    # the numbers that ours carry
    (
        "the replicas that were meant",
        "ours",
        NOTHING,
        put(f"{WORKERS}.replicaCount", "3"),
        f"{POOL}.containerSpec.env.LAUNCH_INSTANCES",
        "world-size",
        "error",
    ),
    (
        "the world size that was meant",
        "ours",
        NOTHING,
        env("LAUNCH_WORLD_SIZE", "4"),
        f"{WORKERS}.containerSpec.env.LAUNCH_WORLD_SIZE",
        "world-size",
        "error",
    ),
    (
        "a number of ranks",
        "ours",
        NOTHING,
        env("LAUNCH_PROCESSES", "four"),
        f"{POOL}.containerSpec.env.LAUNCH_PROCESSES",
        "world-size",
        "error",
    ),
    (
        "one rank at least",
        "ours",
        NOTHING,
        env("LAUNCH_PROCESSES", "0"),
        f"{POOL}.containerSpec.env.LAUNCH_PROCESSES",
        "world-size",
        "error",
    ),
    (
        "a number of hosts at all",
        "ours",
        NOTHING,
        env("LAUNCH_INSTANCES", None, WORKERS),
        f"{WORKERS}.containerSpec.env.LAUNCH_INSTANCES",
        "world-size",
        "error",
    ),
    (
        "a rank a GPU at most",
        "ours",
        NOTHING,
        every(env("LAUNCH_PROCESSES", "8"), env("LAUNCH_WORLD_SIZE", "16")),
        f"{POOL}.containerSpec.env.LAUNCH_PROCESSES",
        "ranks-above-gpus",
        "error",
    ),
    (
        "a replica on each GPU",
        "ours",
        ONE_PROCESS,
        every(ONE_PROCESS, env("LAUNCH_WORLD_SIZE", "2")),
        f"{POOL}.containerSpec.env.LAUNCH_WORLD_SIZE",
        "world-size",
        "error",
    ),
    (
        "a rank a GPU at least",
        "ours",
        NOTHING,
        every(env("LAUNCH_PROCESSES", "2"), env("LAUNCH_WORLD_SIZE", "4")),
        f"{POOL}.containerSpec.env.LAUNCH_PROCESSES",
        "ranks-below-gpus",
        "warning",
    ),
    (
        "the same variables in both pools",
        "ours",
        NOTHING,
        env("LAUNCH_PIN_GPU", "none", WORKERS),
        f"{WORKERS}.containerSpec.env.LAUNCH_PIN_GPU",
        "pools-unlike",
        "error",
    ),
    (
        "the same image in both pools",
        "ours",
        NOTHING,
        put(f"{WORKERS}.containerSpec.imageUri", "us-docker.pkg.dev/p/r/hvd:2"),
        f"{WORKERS}.containerSpec.imageUri",
        "pools-unlike",
        "error",
    ),
    (
        "the same arguments in both pools",
        "ours",
        NOTHING,
        put(f"{WORKERS}.containerSpec.args.2", '["other.py"]'),
        f"{WORKERS}.containerSpec.args",
        "pools-unlike",
        "error",
    ),
    # our own start
    (
        "our bootstrap",
        "ours",
        NOTHING,
        put(f"{POOL}.containerSpec.command.2", "print('hello')"),
        f"{POOL}.containerSpec.command",
        "start-agent",
        "error",
    ),
    (
        "three words",
        "ours",
        NOTHING,
        both("containerSpec.args", ["train.py"]),
        f"{POOL}.containerSpec.args",
        "start-words",
        "error",
    ),
    (
        "three words and no other value",
        "ours",
        NOTHING,
        lambda d: d["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["args"].append(5),
        f"{POOL}.containerSpec.args",
        "start-words",
        "error",
    ),
    (
        "no other value before the words",
        "ours",
        NOTHING,
        lambda d: d["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["args"].insert(0, 5),
        f"{POOL}.containerSpec.args",
        "start-words",
        "error",
    ),
    (
        "no fourth word",
        "ours",
        NOTHING,
        lambda d: d["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["args"].append("x"),
        f"{POOL}.containerSpec.args",
        "start-words",
        "error",
    ),
    (
        "a hash at all",
        "ours",
        NOTHING,
        every(
            put(f"{POOL}.containerSpec.args.0", "gs://b/sourcedir.tar.gz"),
            put(f"{POOL}.containerSpec.args.1", "abc"),
        ),
        f"{POOL}.containerSpec.args[1]",
        "start-bundle",
        "error",
    ),
    (
        "the bundle's place",
        "ours",
        NOTHING,
        put(f"{POOL}.containerSpec.args.0", "gs://b/sourcedir.tar.gz"),
        f"{POOL}.containerSpec.args[0]",
        "start-bundle",
        "error",
    ),
    (
        "the bundle's hash",
        "ours",
        NOTHING,
        put(f"{POOL}.containerSpec.args.1", "0" * 64),
        f"{POOL}.containerSpec.args[1]",
        "start-bundle",
        "error",
    ),
    (
        "the bundle's hash in every pool",
        "ours",
        NOTHING,
        put(f"{WORKERS}.containerSpec.args.1", "f" * 64),
        f"{WORKERS}.containerSpec.args[1]",
        "start-bundle",
        "error",
    ),
    (
        "the script",
        "ours",
        put(f"{POOL}.containerSpec.args.2", '["train.py", "\\u0024(HOME)"]'),
        put(f"{POOL}.containerSpec.args.2", "train.py"),
        f"{POOL}.containerSpec.args[2]",
        "start-script",
        "error",
    ),
    (
        "a module",
        "ours",
        put(f"{POOL}.containerSpec.args.2", '["-m", "pkg.train"]'),
        put(f"{POOL}.containerSpec.args.2", '["-m"]'),
        f"{POOL}.containerSpec.args[2]",
        "start-script",
        "error",
    ),
    (
        "a script's arguments as they are",
        "ours",
        NOTHING,
        put(f"{POOL}.containerSpec.args.2", '["train.py", "$(HOME)"]'),
        f"{POOL}.containerSpec.args[2]",
        "start-script",
        "error",
    ),
    (
        "reduction servers",
        "with servers",
        NOTHING,
        put(f"{SERVERS}.containerSpec.imageUri", IMAGE),
        f"{SERVERS}.containerSpec",
        "start-agent",
        "error",
    ),
    # variables
    (
        "a variable once",
        "ours",
        env("A", "1"),
        every(
            env("A", "1"),
            lambda d: [
                pool["containerSpec"]["env"].append({"name": "A", "value": "2"})
                for pool in d["jobSpec"]["workerPoolSpecs"]
            ],
        ),
        f"{POOL}.containerSpec.env.A",
        "env-twice",
        "error",
    ),
    (
        "a variable's name",
        "foreign",
        env("A_1", "x"),
        env("A-1", "x"),
        f"{POOL}.containerSpec.env.A-1",
        "env-name",
        "error",
    ),
    (
        "a variable of the service",
        "foreign",
        NOTHING,
        env("TF_CONFIG", "{}"),
        f"{POOL}.containerSpec.env.TF_CONFIG",
        "env-reserved",
        "warning",
    ),
    (
        "our agent's own variable",
        "ours",
        NOTHING,
        env("CLUSTER_SPEC", "{}"),
        f"{POOL}.containerSpec.env.CLUSTER_SPEC",
        "env-reserved",
        "error",
    ),
    (
        "GPUs that are seen",
        "foreign",
        env("CUDA_VISIBLE_DEVICES", "0,1,2,3"),
        env("CUDA_VISIBLE_DEVICES", "0"),
        f"{POOL}.containerSpec.env.CUDA_VISIBLE_DEVICES",
        "env-reserved",
        "warning",
    ),
    (
        "a setting of Open MPI",
        "foreign",
        env("OMPI_MCA_btl", "^openib"),
        env("OMPI_COMM_WORLD_RANK", "0"),
        f"{POOL}.containerSpec.env.OMPI_COMM_WORLD_RANK",
        "env-reserved",
        "warning",
    ),
    (
        "a variable of a rank",
        "foreign",
        NOTHING,
        env("HOROVOD_RANK", "0"),
        f"{POOL}.containerSpec.env.HOROVOD_RANK",
        "env-reserved",
        "warning",
    ),
    (
        "the number of variables",
        "foreign",
        put(f"{POOL}.containerSpec.env", [{"name": f"A{n}", "value": ""} for n in range(100)]),
        put(f"{POOL}.containerSpec.env", [{"name": f"A{n}", "value": ""} for n in range(101)]),
        f"{POOL}.containerSpec.env",
        "env-count",
        "error",
    ),
    (
        "a secret by reference",
        "ours",
        env("LAUNCH_SECRETS", '{"TOKEN": "projects/p/secrets/s/versions/1"}'),
        env("API_TOKEN", "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"),
        f"{POOL}.containerSpec.env.API_TOKEN",
        "credential",
        "error",
    ),
    (
        "a secret in an argument",
        "foreign",
        NOTHING,
        put(f"{POOL}.containerSpec.args", ["--password", "jDk39dkw02Ks"]),
        f"{POOL}.containerSpec.args: password",
        "credential",
        "error",
    ),
    (
        "a secret in a script's argument",
        "ours",
        NOTHING,
        both("containerSpec.args.2", '["train.py", "--password", "jDk39dkw02Ks"]'),
        f"{POOL}.containerSpec.args: password",
        "credential",
        "error",
    ),
    # what a command starts
    (
        "a job of all replicas",
        "foreign",
        both("containerSpec.args", ["-np", "16", "-H", "a:4,b:4,c:4,d:4", "python", "t.py"]),
        NOTHING,
        f"{POOL}.containerSpec",
        "world-size",
        "error",
    ),
    (
        "torchrun that meets the other replicas",
        "foreign",
        MEETING,
        both("containerSpec", {"imageUri": IMAGE, "command": ["torchrun", "--nnodes=4", "t.py"]}),
        f"{POOL}.containerSpec",
        "world-size",
        "error",
    ),
    (
        "ranks for GPUs",
        "foreign",
        NOTHING,
        both("containerSpec.args", ["-np", "8", "python", "t.py"]),
        f"{POOL}.containerSpec",
        "ranks-above-gpus",
        "error",
    ),
    (
        "GPUs for ranks",
        "foreign",
        NOTHING,
        both("containerSpec.args", ["-np", "2", "python", "t.py"]),
        f"{POOL}.containerSpec",
        "ranks-below-gpus",
        "warning",
    ),
    (
        "an exit code behind a semicolon",
        "foreign",
        script("set -e; horovodrun -np 4 python t.py; echo done"),
        script("horovodrun -np 4 python t.py; echo done"),
        f"{POOL}.containerSpec",
        "exit-code",
        "warning",
    ),
    (
        "an exit code before another",
        "foreign",
        script("service ssh start && mpirun -np 4 python t.py"),
        script("mpirun -np 4 python t.py || true"),
        f"{POOL}.containerSpec",
        "exit-code",
        "warning",
    ),
    (
        "an exit code in a pipe",
        "foreign",
        script("set -o pipefail\nhorovodrun -np 4 python t.py 2>&1 | tee log"),
        script("horovodrun -np 4 python t.py 2>&1 | tee log"),
        f"{POOL}.containerSpec",
        "exit-code",
        "warning",
    ),
    (
        "an exit code in the background",
        "foreign",
        script("horovodrun -np 4 python t.py & wait $!"),
        script("horovodrun -np 4 python t.py &\nsleep 3"),
        f"{POOL}.containerSpec",
        "exit-code",
        "warning",
    ),
]
