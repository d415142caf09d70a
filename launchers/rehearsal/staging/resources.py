"""What this machine gives to a rehearsal: memory, GPUs."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from launchers.core.model.containers import Container
from launchers.core.planning.plan import counted
from launchers.machine.devices import visible_gpus
from launchers.rehearsal.engine.making import Limits

# Left to the engine, to this launcher and to whoever works on the machine.
_OTHERS_SHARE = 0.1
_LEAST_MEMORY = 512 * 1024**2
# The programs of NVIDIA's container toolkit, one of which an engine needs to pass GPUs through.
_GPU_RUNTIMES = ("nvidia-container-runtime", "nvidia-container-runtime-hook", "nvidia-ctk")


def shares(client: Any, containers: Sequence[Container], memory: int | None) -> tuple[Limits, str]:
    """Memory and GPUs of each container; a note where ranks get fewer GPUs than in the cloud.

    Args:
        memory: Bytes for each container, or None for an equal part of the machine's.
    """
    total = int(client.info().get("MemTotal", 0))
    each = memory or max(_LEAST_MEMORY, int(total * (1 - _OTHERS_SHARE) / len(containers)))
    wanted = max(container.gpus for container in containers)
    if not wanted:
        return Limits(each), ""
    having = [container for container in containers if container.gpus]
    found = visible_gpus()
    if not found:
        return Limits(each), "no GPU on this machine: the ranks run on the CPU"
    if not passes_gpus(client.info()):
        note = (
            f"{len(found)} GPUs here, but the engine has no NVIDIA runtime: the ranks run on the "
            "CPU (install nvidia-container-toolkit)"
        )
        return Limits(each), note
    count = min(wanted, len(found) // len(having))
    if not count:
        note = f"{len(found)} GPUs for {len(having)} hosts: the ranks run on the CPU"
        return Limits(each), note
    parts = iter(tuple(found[at : at + count]) for at in range(0, len(having) * count, count))
    devices = tuple(next(parts) if container.gpus else () for container in containers)
    note = f"{count} GPUs a host instead of {wanted}" if count < wanted else ""
    return Limits(each, devices), note


def hardware_unlike(client: Any, containers: Sequence[Container]) -> list[str]:
    """How CPU and disk of this machine differ from those of the job's, a line each."""
    known = list(dict.fromkeys(one.hardware for one in containers if one.hardware))
    if not known:
        return []
    told, shared = client.info(), f" for {counted(len(containers), 'host')}"
    has = [f"{one.name} has {one.vcpus}, and {one.memory_gib:g} GiB of memory" for one in known]
    cores = counted(int(told.get("NCPU", 0)), "CPU core")
    lines = [f"{cores} here{shared}; {'; '.join(has)}"]
    if known[0].disk_gb:
        free = _free_disk(str(told.get("DockerRootDir", "")))
        here = f"{free:.0f} GB of disk are free here" if free else "this machine's disk serves"
        lines.append(f"{here}{shared}; the job has {known[0].disk_gb} GB a host")
    return lines


def _free_disk(folder: str) -> float:
    """GB where the engine keeps its containers; 0 where that is on another machine."""
    try:
        return shutil.disk_usage(folder).free / 1e9
    except OSError:
        return 0.0


def passes_gpus(info: Mapping[str, Any]) -> bool:
    """Whether an engine that says this of itself gives containers this machine's GPUs."""
    runtimes = info.get("Runtimes") or {}
    return "nvidia" in runtimes or any(shutil.which(name) for name in _GPU_RUNTIMES)
