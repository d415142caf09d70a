"""The plan's row of GPUs that the service cuts into MIG instances."""

from __future__ import annotations

from launchers.core.model.document import at
from launchers.core.planning.plan import Row
from launchers.core.rules.request import Request
from launchers.vertex.planning.machine_choice import MachineChoice
from launchers.vertex.rules.partitions import share
from launchers.vertex.tables import machines

_SIZE = ("jobSpec", "workerPoolSpecs", "machineSpec", "gpuPartitionSize")


def partition_rows(request: Request, machine: MachineChoice) -> list[Row]:
    """What a replica and a rank get of GPUs that ``request:`` has cut; none for whole ones."""
    size = at(request.fields, *_SIZE)
    if not isinstance(size, str) or not size:
        return []
    known = machines.accelerators().get(machine.accelerator)
    return [Row("MIG", share(size, machine.gpus, known), request.origin)]
