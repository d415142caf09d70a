"""What CustomJobs use of the project's quotas.

Source: Google, "Vertex AI quotas and limits", custom model training.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tests.fakes.google_account import GoogleAccount
from tests.fakes.google_job_states import CustomJob
from tests.fakes.google_wire import refused

# As the API names the accelerator -> as the metric does.
_METRIC_NAMES = {
    "NVIDIA_TESLA_T4": "nvidia_t4",
    "NVIDIA_TESLA_P4": "nvidia_p4",
    "NVIDIA_TESLA_V100": "nvidia_v100",
    "NVIDIA_TESLA_A100": "nvidia_a100",
    "NVIDIA_A100_80GB": "nvidia_a100_80gb",
    "NVIDIA_L4": "nvidia_l4",
    "NVIDIA_H100_80GB": "nvidia_h100",
    "NVIDIA_H100_MEGA_80GB": "nvidia_h100_mega",
    "NVIDIA_H200_141GB": "nvidia_h200",
    "NVIDIA_B200": "nvidia_b200",
}


def check(
    account: GoogleAccount, document: Mapping[str, Any], jobs: Iterable[CustomJob], location: str
) -> None:
    """Refuse a job that does not fit beside those that have not ended.

    Raises:
        ServiceError: Naming each metric that would be exceeded.
    """
    wanted = used(document)
    taken: Counter[str] = Counter()
    for job in jobs:
        if job.location == location and not job.ended:
            taken.update(used(job.document))
    over = [
        metric
        for metric, count in wanted.items()
        if taken[metric] + count > account.quota(metric, location)
    ]
    if over:
        names = ", ".join(f"aiplatform.googleapis.com/{metric}" for metric in sorted(over))
        text = f"The following quota metrics exceed quota limits: {names}"
        raise refused("RESOURCE_EXHAUSTED", text)


def used(document: Mapping[str, Any]) -> Counter[str]:
    """Metric -> how many accelerators or vCPUs of it a job uses; of machines, n1 and e2 alone
    count, and accelerators other than those known cost nothing."""
    spec = document.get("jobSpec", {})
    spot = spec.get("scheduling", {}).get("strategy") in ("SPOT", "FLEX_START")
    found: Counter[str] = Counter()
    for pool in spec.get("workerPoolSpecs", []):
        machine, replicas = pool.get("machineSpec", {}), int(pool.get("replicaCount", 0))
        kind = "preemptible_" if spot else ""
        name = _METRIC_NAMES.get(machine.get("acceleratorType", ""))
        if name:
            metric = f"custom_model_training_{kind}{name}_gpus"
            found[metric] += int(machine.get("acceleratorCount", 0)) * replicas
        family, _, size = machine.get("machineType", "").partition("-")
        vcpus = size.rpartition("-")[2]
        if family in ("n1", "e2") and vcpus.isdecimal():
            found[f"custom_model_training_{kind}cpus"] += int(vcpus) * replicas
    return found
