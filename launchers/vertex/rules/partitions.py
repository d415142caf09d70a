"""GPUs that the service cuts into MIG instances, and what a rank gets of them.

Sources: the API's MachineSpec.gpuPartitionSize (8 A100 at 1g.10gb are 8 x 7 instances). NVIDIA's
Multi-Instance GPU User Guide, "CUDA Device Enumeration": a process of CUDA enumerates one
instance, the first that is visible to it, however many there are. NCCL takes one rank a GPU of the
PCI bus (https://github.com/NVIDIA/nccl/issues/1716). How many of a machine's instances a container
is given is not documented for training, and makes no difference to a process.
"""

from __future__ import annotations

from launchers.core.model.problems import Problem, Severity
from launchers.core.planning.plan import counted
from launchers.vertex.catalogue import RULES
from launchers.vertex.rules.pools import Pool, pools
from launchers.vertex.tables import machines


def check_partitions(document: object) -> list[Problem]:
    """Whether each pool's partition size is one of its GPU, and stands beside one GPU."""
    return [one for pool in pools(document) if pool.partition for one in _size(pool)]


def too_many(pool: Pool, ranks: int, path: str, severity: Severity) -> Problem:
    """That several ranks of a replica would take the same MIG instance."""
    found = f"{counted(ranks, 'rank')} on a replica, and {seen(pool)}"
    return RULES["partition-ranks"].at(path, found, "1 rank a replica", severity=severity)


def are_its_own(pool: Pool) -> bool:
    """Whether the pool's GPUs are cut, to a size that they have."""
    return _instances(pool.partition, pool.whole_gpus, _accelerator(pool)) > 0


def seen(pool: Pool) -> str:
    """What each process gets, as a clause: ``each process sees one MIG instance of 1g.10gb``."""
    total = _instances(pool.partition, pool.whole_gpus, _accelerator(pool))
    of = f", of {total} on a replica" if total > 1 else ""
    return f"each process sees one MIG instance of {pool.partition[:20]}{of}"


def share(size: str, gpus: int, accelerator: machines.Accelerator | None) -> str:
    """What a replica and a rank get, for the plan."""
    total = _instances(size, gpus, accelerator)
    has = f"{counted(total, 'instance')} of {size} a replica" if total else f"instances of {size}"
    return f"{has}, of which each rank sees one"


def crowded(pool: Pool, because: str) -> str:
    """Why the world of several processes on one replica cannot be told."""
    return f"{because}, and {seen(pool)}: NCCL refuses two ranks on one device"


def uncounted(pool: Pool, text: str) -> str:
    """Why a launcher's own count of GPUs cannot be told."""
    gpus = counted(pool.whole_gpus, "GPU")
    return f"{text}: what it counts of {gpus} in MIG instances is known only when it runs"


def _size(pool: Pool) -> list[Problem]:
    path = f"{pool.path}.machineSpec"
    size, rule = pool.partition[:20], RULES["partition-size"]
    kind, known = pool.accelerator, _accelerator(pool)
    if kind and known is None:
        return []  # The model's own check says so.
    where = f"{path}.gpuPartitionSize"
    if known is None:
        return [rule.at(where, f"{size} without a GPU", "no gpuPartitionSize")]
    if not known.partitions:
        found = f"{size} of {known.name}, which cannot be cut"
        able = [name for name, row in machines.accelerators().items() if row.partitions]
        return [rule.at(where, found, "no gpuPartitionSize", f"MIG is for {', '.join(able)}")]
    problems = []
    if pool.partition not in known.partitions:
        sizes = ", ".join(known.partitions)
        problems.append(rule.at(where, f"{size} of {known.name}", f"one of {sizes}"))
    if pool.whole_gpus > 1:
        alone = [entry.name for entry in machines.taking(known.name, 1)]
        fix = f"{', '.join(alone[:3])} has one" if alone else "no machine has one such GPU alone"
        found = f"{pool.whole_gpus}, and {seen(pool)}"
        where = f"{path}.acceleratorCount"
        problems.append(RULES["partition-count"].at(where, found, "1", fix))
    return problems


def _accelerator(pool: Pool) -> machines.Accelerator | None:
    machine = machines.machine(pool.machine_type)
    name = pool.accelerator or (machine.accelerator if machine else "")
    return machines.accelerators().get(name)


def _instances(size: str, gpus: int, accelerator: machines.Accelerator | None) -> int:
    """MIG instances of a replica; 0 where the size is none of the GPU's."""
    return gpus * accelerator.partitions.get(size, 0) if accelerator else 0
