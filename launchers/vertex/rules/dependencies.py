"""What the rules look at besides the place that they name: where such a value is not known here,
as with another tool's parameter, a rule says nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from launchers.core.roles import SIZE

_POOL = "$.jobSpec.workerPoolSpecs[*]"
_MACHINE = (
    f"{_POOL}.machineSpec.machineType",
    f"{_POOL}.machineSpec.acceleratorType",
    f"{_POOL}.machineSpec.acceleratorCount",
    f"{_POOL}.machineSpec.gpuPartitionSize",
)
_COMMAND = (f"{_POOL}.containerSpec.command[*]", f"{_POOL}.containerSpec.args[*]")
# A launcher without a count, and a plain program's strategy, take the GPUs that they find.
_SIZE = (f"{_POOL}.replicaCount", *_COMMAND, *_MACHINE)
_STRATEGY = ("$.jobSpec.scheduling.strategy", "$.jobSpec.persistentResourceId")
DEPENDS_ON: Mapping[str, Sequence[str]] = {
    SIZE: _SIZE,
    "world-size": _SIZE,
    "ranks-above-gpus": (*_MACHINE, *_COMMAND),
    "ranks-below-gpus": (*_MACHINE, *_COMMAND),
    "accelerator-type": _MACHINE,
    "accelerator-count": _MACHINE,
    "accelerator-pair": _MACHINE,
    "partition-size": _MACHINE,
    "partition-count": _MACHINE,
    "partition-ranks": (*_MACHINE, *_COMMAND),
    "disk-machine": _MACHINE,
    "pools-unlike": (f"{_POOL}.containerSpec.**", f"{_POOL}.machineSpec.**"),
    "start-words": (f"{_POOL}.containerSpec.**",),
    "start-agent": (f"{_POOL}.containerSpec.**",),
    "start-script": (f"{_POOL}.containerSpec.**",),
    "start-bundle": (f"{_POOL}.containerSpec.**",),
    "flex-start": (*_STRATEGY, *_MACHINE, "$.jobSpec.scheduling.timeout"),
    "max-wait": _STRATEGY,
    "strategy-machine": (*_STRATEGY, *_MACHINE),
    "reservation": (*_MACHINE, f"{_POOL}.machineSpec.reservationAffinity.reservationAffinityType"),
    "reservation-strategy": _STRATEGY,
    "persistent-strategy": _STRATEGY,
    "restart-job": (
        f"{_POOL}.replicaCount",
        "$.jobSpec.scheduling.restartJobOnWorkerRestart",
        "$.jobSpec.scheduling.disableRetries",
    ),
    "spot-retries": _STRATEGY,
    "image-horovod": _COMMAND,
    "exit-code": _COMMAND,
    "network-twice": ("$.jobSpec.network", "$.jobSpec.pscInterfaceConfig"),
    "reserved-ip": ("$.jobSpec.network",),
    "tensorboard": ("$.jobSpec.serviceAccount", "$.jobSpec.baseOutputDirectory"),
}
